package setupdoc

// Packed returns the share string of any document, for tests of reading.
func Packed(document []byte) (string, error) { return packed(document) }
