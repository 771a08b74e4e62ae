package job

// queue is the jobs that wait for a worker, in order; jobs of one subject leave it one at a time. It is not safe for concurrent use.
type queue struct {
	waiting []item
	busy    map[string]bool // subjects with a running job
}

type item struct{ id, subject string }

func (q *queue) push(id, subject string) { q.waiting = append(q.waiting, item{id, subject}) }

// take removes the first job whose subject is idle, and makes the subject busy until done.
func (q *queue) take() (id string, ok bool) {
	for i, w := range q.waiting {
		if q.busy[w.subject] {
			continue
		}
		q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
		if q.busy == nil {
			q.busy = map[string]bool{}
		}
		q.busy[w.subject] = true
		return w.id, true
	}
	return "", false
}

// done makes the subject idle.
func (q *queue) done(subject string) { delete(q.busy, subject) }

// remove takes a job out of the queue.
func (q *queue) remove(id string) {
	for i, w := range q.waiting {
		if w.id == id {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			return
		}
	}
}
