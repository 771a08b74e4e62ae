// Package drain sends SIGTERM to the real server while it works: health says
// NOT_SERVING, new work is refused by SERVER_DRAINING, what runs may finish
// within the grace, a second signal or the grace's end cuts it off, and jobs
// go on in the next life of the server.
package drain
