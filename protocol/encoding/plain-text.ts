/**
 * Strangers' text: what of it is refused where others will be shown it, and how it is made harmless before a terminal, a
 * page or a model sees it.
 */

/**
 * What shows nothing: what Unicode tells programs to draw as nothing (zero width, bidirectional controls, tags, fillers,
 * variation selectors), what is no character, the blank of Braille. A variation selector that makes a sign an emoji stays.
 */
const INVISIBLE = String.raw`\u2028\u2029\ufff9-\ufffb\u2800\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}`
const NOT_OF_EMOJI = String.raw`(?!(?<=\p{Extended_Pictographic})\ufe0f|(?<=[0-9#*])\ufe0f\u20e3)`
/** C0 but tab and newline, DEL, C1, and what is invisible. */
const HOSTILE = new RegExp(
  String.raw`${NOT_OF_EMOJI}[\u0000-\u0008\u000b-\u001f\u007f-\u009f${INVISIBLE}]`,
  'gu',
)

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

/** {@link isPlainText} on one line. */
export function isPlainLine(text: string): boolean {
  return isPlainText(text) && !/[\t\r\n]/.test(text)
}

/** {@link isPlainLine} with something to see, or empty: for names and summaries. */
export function isVisibleLine(text: string): boolean {
  return isPlainLine(text) && (text === '' || text.trim() !== '')
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

/** What a terminal obeys or hides and `JSON.stringify` leaves as it is: controls, formats and what is invisible. */
const UNSEEN = new RegExp(String.raw`(?!\n)${NOT_OF_EMOJI}[\p{Cc}\p{Cf}${INVISIBLE}]`, 'gu')

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
