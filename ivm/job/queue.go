package job

// queue is the jobs that wait for a place, in order. It is not safe for concurrent use.
type queue []item

type item struct{ id, subject string }

func (q *queue) push(id, subject string) { *q = append(*q, item{id, subject}) }

// take removes the first job that may enter; of each subject only the first is asked about.
func (q *queue) take(enter func(subject string) bool) (id string, ok bool) {
	asked := map[string]bool{}
	for i, w := range *q {
		if asked[w.subject] {
			continue
		}
		asked[w.subject] = true
		if enter(w.subject) {
			*q = append((*q)[:i:i], (*q)[i+1:]...)
			return w.id, true
		}
	}
	return "", false
}

// remove takes a job out of the queue.
func (q *queue) remove(id string) {
	for i, w := range *q {
		if w.id == id {
			*q = append((*q)[:i:i], (*q)[i+1:]...)
			return
		}
	}
}
