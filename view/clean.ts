/**
 * The one cleaner of untrusted text. What comes out moves no cursor, turns no direction, forges no line and takes no
 * more room than it shows: no control, format or invisible character, and no tower of marks that covers other rows.
 */
import { plainText } from '../protocol/encoding/plain-text.ts'

/** Marks on one letter that living languages need. */
const MARKS = /(\p{M}{3})\p{M}+/gu
/** Formats that a terminal draws differently or not at all, and what chooses the form of an emoji. */
const FORMATS = /\p{Cf}|\p{Variation_Selector}/gu
const TAB = '    '
/** Characters of one text that a screen takes; the rest is read with `svc thread` or saved. */
const TEXT_MAX = 200_000

const tame = (text: string): string => text.replace(FORMATS, '').replace(MARKS, '$1')

/** Words of several lines: newlines stay, everything else that moves is gone. */
export function cleanText(text: string): string {
  return tame(plainText(text.slice(0, TEXT_MAX))).replaceAll('\t', TAB)
}

/** Characters of a file's name, wherever it is shown, asked about or saved. */
const FILE_NAME_MAX = 80
const ENDING_MAX = 16
/** What would end a quoted name, or lead out of a folder. */
const OF_LISTS = /["“”„«»‹›\\/:*?<>|]/g

/**
 * The name of a file: its ending always shown, the middle of a long one left out, and nothing in it that ends a name in
 * a list of them.
 */
export function cleanFileName(name: string): string {
  const line = cleanLine(name.replace(OF_LISTS, '_'), 4_000)
  const characters = [...line]
  if (characters.length <= FILE_NAME_MAX) return line || 'file'
  const dot = characters.lastIndexOf('.')
  const ending = Math.max(dot, characters.length - ENDING_MAX)
  const rest = characters.slice(dot > 0 ? ending : characters.length - ENDING_MAX)
  return `${characters.slice(0, FILE_NAME_MAX - 1 - rest.length).join('')}…${rest.join('')}`
}

/** One line: blanks of any kind become one. Longer ones end in `…`. */
export function cleanLine(text: string, charactersMax = 400): string {
  const line = tame(plainText(text.slice(0, charactersMax * 8)))
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  return characters.length <= charactersMax ? line : `${characters.slice(0, charactersMax - 1).join('')}…`
}
