package gate

import "github.com/vegadb/vega-flight/ducklake/types"

// LakeType is the type in which a lake keeps values of a SQL type unchanged, or "" when it has none. A value that does
// not fit is an error of the cast.
func LakeType(sqlType string) string {
	mapped, _ := types.Lake(sqlType)
	return mapped
}
