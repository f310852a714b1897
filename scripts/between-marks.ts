/** The place of a printed table within a page that is written by hand. */

/** The text with `printed` between two marks, in place of what was there. */
export function betweenMarks(text: string, mark: string, printed: string): string {
  const [before = '', after = ''] = text.split(new RegExp(`${mark}(?:[\\s\\S]*${mark})?`))
  return [before, mark, '\n\n', printed, '\n\n', mark, after].join('')
}
