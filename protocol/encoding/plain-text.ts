/** Strangers' text made harmless before a terminal, a page or a model sees it. */

/** C0 but tab and newline, DEL, C1; bidirectional controls; zero-width and tag characters; other invisible formats. */
const HOSTILE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\u{1bca0}-\u{1bca3}]/gu

/** Text without control, bidirectional and invisible characters; line breaks become plain newlines. */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(HOSTILE, '')
}

/** {@link plainText} on one line: for names, subjects and previews, which must not forge further lines. */
export function plainLine(text: string, charactersMax: number): string {
  const line = plainText(text).replace(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= charactersMax ? line : `${characters.slice(0, charactersMax - 1).join('')}…`
}
