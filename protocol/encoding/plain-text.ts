/**
 * Strangers' text: what of it is refused where others will be shown it, and how it is made harmless before a terminal, a
 * page or a model sees it.
 */

/** C0 but tab and newline, DEL, C1; bidirectional controls; zero-width and tag characters; other invisible formats. */
const HOSTILE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\u{1bca0}-\u{1bca3}]/gu

/** Most text holds none of these, and is found harmless several times faster by them. */
const OTHER_THAN_ASCII = /[^\n\x20-\x7e]/

/** Text without control, bidirectional and invisible characters; line breaks become plain newlines. */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(HOSTILE, '')
}

/** Whether text holds nothing that {@link plainText} takes away; CRLF is as good as a newline. */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && text.replaceAll('\r\n', '\n').search(HOSTILE) < 0
}

/** {@link isPlainText} on one line: for names, summaries and tags. */
export function isPlainLine(text: string): boolean {
  return isPlainText(text) && !/[\t\r\n]/.test(text)
}

/** Text as it may be shown, with what {@link plainText} takes away as escapes, so that nothing is hidden. */
export function shownText(text: string): string {
  if (text.search(OTHER_THAN_ASCII) < 0) return text
  return text.toWellFormed().replaceAll('\r\n', '\n').replace(HOSTILE, escaped)
}

/** {@link shownText} on one line. */
export function shownLine(text: string): string {
  return shownText(text).replace(/[\t\n]/g, escaped)
}

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** What a terminal obeys or hides and `JSON.stringify` leaves as it is: controls and invisible formats. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** JSON in which every character that a terminal would not show is escaped; it reads back as the same value. */
export function shownJson(text: string): string {
  if (text.search(OTHER_THAN_ASCII) < 0) return text
  const unit = (code: string): string => `\\u${code.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(UNSEEN, seen => seen.split('').map(unit).join(''))
}

/** {@link plainText} on one line: for names, subjects and previews, which must not forge further lines. */
export function plainLine(text: string, charactersMax: number): string {
  const line = plainText(text).replace(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length <= charactersMax ? line : `${characters.slice(0, charactersMax - 1).join('')}…`
}
