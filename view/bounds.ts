/** How long a text may be, in the unit that the node counts, and how near it is to that. */
import { COMMENT_BYTES_MAX, DOCUMENT_BYTES_MAX, REASON_BYTES_MAX } from '../protocol/contract/limits.ts'
import { PETNAME_CHARACTERS_MAX, WORDS_BYTES_MAX } from '../protocol/control/bounds.ts'
import { utf8Length } from '../protocol/encoding/bytes.ts'

/** `least` and `most` in `unit`; characters are counted as the node counts them, in UTF-16 units. */
export type Bound = {
  readonly most: number
  readonly least?: number
  readonly unit: 'characters' | 'bytes'
}
export type Measured = {
  readonly count: number
  /** What a counter says once the bound is near; undefined until then. */
  readonly says: string | undefined
  /** Why it is not taken; undefined where it is. */
  readonly fault: string | undefined
}

/** What people write, and how much of it the node takes. */
export const textBounds = {
  message: { most: WORDS_BYTES_MAX, unit: 'bytes' },
  task: { most: DOCUMENT_BYTES_MAX, unit: 'bytes' },
  reason: { most: REASON_BYTES_MAX, unit: 'bytes' },
  comment: { most: COMMENT_BYTES_MAX, unit: 'bytes' },
  petname: { most: PETNAME_CHARACTERS_MAX, unit: 'characters' },
} as const satisfies Record<string, Bound>

/** The text of a task as it is counted: in its document, where a quote or an end of line takes two bytes. */
export const asTask = (text: string): string =>
  text.length * 6 < DOCUMENT_BYTES_MAX * NEAR ? text : JSON.stringify({ attachments: [], task: text })

/** A counter appears from here on. */
const NEAR = 0.8

export function measured(text: string, { most, least = 0, unit }: Bound): Measured {
  // a text has at least as many bytes as characters: most are short, and nothing is counted
  const isFar = text.length * 3 < most * NEAR
  const count = unit === 'characters' || isFar ? text.length : utf8Length(text)
  return {
    count,
    says: !isFar && count >= most * NEAR ? `${grouped(count)} of ${grouped(most)} ${unit}` : undefined,
    fault: faultOf(count, most, least, unit),
  }
}

function faultOf(count: number, most: number, least: number, unit: string): string | undefined {
  if (count > most) return `${grouped(count - most)} ${unit} too many; at most ${grouped(most)} are taken`
  return count < least ? `at least ${least} ${unit} are needed` : undefined
}

/** Digits in threes. */
export const grouped = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ',')
