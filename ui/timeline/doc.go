// Package timeline draws the operations of a pipeline over time, once for every screen
// and command that shows them: a Chart is a whole panel, as Explore and the command line
// have it; an Axis with its Frame and Rows is the same picture in parts, which the
// Pipeline screen zooms, marks and plays. Both fold what repeats, mix the columns that
// hold several operations, and share one painter and one legend.
package timeline
