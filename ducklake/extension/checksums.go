package extension

// checksums are the SHA-256 sums of the extension files of DuckDB 1.5.5, by platform and name.
var checksums = map[string]map[string]string{
	"linux_amd64": {
		DuckLake: "e51bf9e8d933d0e83780ae096455501b542cf962569a2ce5613532d702c08302",
		Postgres: "b1ced4cfc6311313e117c2afb3eac76508718778dde0716421503c7dbfb5605c",
	},
	"linux_arm64": {
		DuckLake: "d0b57c8e261b89a1ae367c7224f0857cfde72ab6cf2609f188e0de9b897b1088",
		Postgres: "e2469cce1e855e8c842a1487dd8168cf27904c03baaf1f2c227529403315d819",
	},
	"osx_arm64": {
		DuckLake: "1b72fc42164dbf21948e5a912cefc383b24071852f9e70209874ebd0a73b7caa",
		Postgres: "f39dd59bf57679d0242e19e180d90b4222e5cdb691ab67c7506658f3548c0e05",
	},
	"osx_amd64": {
		DuckLake: "c7baf45b87f19cb3191c228b820857d573761d344c7855570dcc7eb3b8f1ff9e",
		Postgres: "0df780444ce04a75c5a4e7b89896eab5cebe1ca21163fc6c267f3365ffe4a3c1",
	},
	"windows_amd64": {
		DuckLake: "4546a5c6d9bc52cc122bc76e521c996e1ac31e71a25e01c531db8d3bb65e2ef0",
		Postgres: "fc026ca03659889080606f0dacfd4e3976479df52660fafc763642e14bb36be2",
	},
}
