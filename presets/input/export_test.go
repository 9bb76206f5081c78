package input

// OpenWithin opens a file as Open does; a pipe may keep it waiting for as long as is given.
var OpenWithin = open
