/** JSON shapes shared by the route tables: binary values, identifiers, times, counts, what a profile holds. */
import * as z from 'zod'
import { fromBase64, fromBase64url, utf8Length } from '../encoding/bytes.ts'
import { isPlainText, isVisibleLine } from '../encoding/plain-text.ts'
import { isAid } from '../identity/aid.ts'
import { CAP_BYTES_MAX } from './limits.ts'

function base64url(
  accepts: (length: number) => boolean,
  expected: string,
  error = `expected ${expected} as base64url without padding`,
) {
  return z
    .string()
    .refine(
      text => {
        try {
          return accepts(fromBase64url(text).length)
        } catch {
          return false
        }
      },
      { error },
    )
    .meta({ description: `${expected} as base64url`, contentEncoding: 'base64url' })
}

/** base64url of exactly `length` bytes; `error` is what anything else is refused with. */
export const bytesText = (length: number, error?: string) =>
  base64url(n => n === length, `${length} bytes`, error)
/** base64url of at most `bytesMax` bytes. */
export const blobText = (bytesMax: number) => base64url(n => n <= bytesMax, `at most ${bytesMax} bytes`)

const base64 = (accepts: (length: number) => boolean, expected: string) =>
  z
    .string()
    .refine(
      text => {
        try {
          return accepts(fromBase64(text).length)
        } catch {
          return false
        }
      },
      { error: `expected ${expected} as standard base64` },
    )
    .meta({ description: `${expected} as base64`, contentEncoding: 'base64' })

/** Standard base64 of exactly `length` bytes; `expected` says what they are. */
export const bytes64 = (length: number, expected: string) => base64(n => n === length, expected)
/** Standard base64 of at most `bytesMax` bytes. */
export const blob64 = (bytesMax: number) => base64(n => n <= bytesMax, `at most ${bytesMax} bytes`)
/** Text of a form that only its reader judges; `form` names it in the documents. */
export const textOf = (form: string) => z.string().meta({ description: form })
/** AID as text, 44 characters of base64url (objects §4). */
export const aidShape = z
  .string()
  .refine(isAid, { error: 'expected an AID: 44 characters starting with A' })
  .meta({ description: 'AID', minLength: 44, maxLength: 44 })
/** Unix milliseconds. */
export const millis = z.int().min(0).meta({ description: 'Unix milliseconds' })
/** A whole number from 0 to 2^53 − 1. */
export const count = z.int().min(0)
/** Text of at most `max` UTF-8 bytes, without lone surrogates. */
export const textShape = (bytesMax: number) =>
  z
    .string()
    .refine(text => text.isWellFormed() && utf8Length(text) <= bytesMax, {
      error: `expected well-formed text of at most ${bytesMax} bytes`,
    })
    .meta({ description: `text of at most ${bytesMax} bytes` })
/** One line that others are shown: {@link textShape} without control and invisible characters, not blank. */
export const lineShape = (bytesMax: number) =>
  shownShape(
    isVisibleLine,
    bytesMax,
    `one line of at most ${bytesMax} bytes without control or invisible characters, empty or with something to see`,
  )
/** Text of several lines that others are shown. */
export const plainShape = (bytesMax: number) =>
  shownShape(
    isPlainText,
    bytesMax,
    `text of at most ${bytesMax} bytes without control or invisible characters`,
  )

function shownShape(isPlain: (text: string) => boolean, bytesMax: number, description: string) {
  return z
    .string()
    .refine(text => isPlain(text) && utf8Length(text) <= bytesMax, { error: `expected ${description}` })
    .meta({ description })
}

/** A capability tag: printable, without spaces and commas; `*` only ends a family in a query. */
export const capTag = z.string().regex(/^[\x21-\x2b\x2d-\x7e]{1,64}$/, {
  error: `expected 1 to ${CAP_BYTES_MAX} printable characters without spaces or commas`,
})
/** How far a directory entry travels. */
export const visibilityShape = z.enum(['hub-local', 'federated', 'public'])
