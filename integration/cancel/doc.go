// Package cancel cancels statements of the real server by every door at random
// moments: after CANCELLED the server's processor time stands still, nothing
// of the statement is on disk or published, and the job's row moves no more.
//
// Read cancel_test.go first; doors_test.go has the doors.
package cancel
