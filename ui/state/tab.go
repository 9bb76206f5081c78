package state

// Tab is which screen is shown, by its place in the row of tabs.
type Tab uint8

// ExploreTab is the screen that the program starts with.
const ExploreTab Tab = 0
