package state

// SetBulk sets from how many records on a checkpoint is written as files, and gives what sets it back.
func SetBulk(n int) func() {
	was := bulkAt
	bulkAt = n
	return func() { bulkAt = was }
}
