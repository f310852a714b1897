/** Words for one task that were written on two screens: each of them keeps what stands on the other. */
import { fileName } from '../protocol/encoding/file-names.ts'
import { cleanLine } from './clean.ts'

export type Written = { readonly text: string; readonly files: readonly string[] }

/** Where the node keeps a file that a screen gave it. */
const GIVEN = /[/\\]uploads[/\\][0-9a-f]{32}[/\\]([^/\\]+)$/

/** The name of a file that the console gave to the node; undefined for a file that its user named by a path. */
export function givenName(path: string): string | undefined {
  const name = GIVEN.exec(path)?.[1]
  return name === undefined ? undefined : fileName(name)
}

/** A file that goes along, to who reads it in a line. */
export function sayFile(path: string): string {
  const given = givenName(path)
  return given === undefined ? cleanLine(path) : `${cleanLine(given)} (given in the console)`
}

export const nothingWritten: Written = { text: '', files: [] }
export const BOTH_STAND =
  'another screen kept other words for this since you opened it; both stand here now, so look before you send'

export const isSameDraft = (a: Written, b: Written): boolean =>
  a.text === b.text && a.files.join('\n') === b.files.join('\n')

/** Both of them: what goes on with the other one once, anything else one behind the other. */
export function bothDrafts(there: Written, here: Written): Written {
  const files = [...new Set([...there.files, ...here.files])]
  if (here.text.startsWith(there.text)) return { text: here.text, files }
  if (there.text.startsWith(here.text)) return { text: there.text, files }
  return { text: `${there.text}\n\n${here.text}`, files }
}
