/**
 * The one cleaner of untrusted text. What comes out moves no cursor, turns no direction, forges no line and takes no
 * more room than it shows: no control, format or invisible character, and no tower of marks that covers other rows.
 */
import { plainText } from '../protocol/encoding/plain-text.ts'

/** Marks on one letter that living languages need. */
const MARKS = /(\p{M}{3})\p{M}+/gu
/** Formats that a terminal draws differently or not at all, and what chooses the form of an emoji. */
const FORMATS = /\p{Cf}|\p{Variation_Selector}/gu
/** The colours of a terminal, which the output of programs is full of. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one
const COLOURS = /\u001b\[[\d;:]{0,64}m/g
const TAB = '    '
/** Characters of one text that a screen takes; the rest is read with `svc thread` or saved. */
const TEXT_MAX = 200_000

const tame = (text: string): string => text.replace(FORMATS, '').replace(MARKS, '$1')

/** Words of several lines: newlines stay, everything else that moves is gone. */
export function cleanText(text: string): string {
  return tame(plainText(text.slice(0, TEXT_MAX).replace(COLOURS, ''))).replaceAll('\t', TAB)
}

/** One line: blanks of any kind become one. Longer ones end in `…`. */
export function cleanLine(text: string, charactersMax = 400): string {
  const line = tame(plainText(text.slice(0, charactersMax * 8).replace(COLOURS, '')))
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  return characters.length <= charactersMax ? line : `${characters.slice(0, charactersMax - 1).join('')}…`
}
