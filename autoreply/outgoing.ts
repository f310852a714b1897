/** What of an answer goes to the other party, and what is taken off it before. */

import { plainText } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import { ANSWER_CHARACTERS_MAX, BackendFailed, type MadeFile } from './backend.ts'
import { holdsSecret } from './secrets.ts'

const REFUSED_REPLY = 'I cannot answer this request.'

export type Outgoing = {
  text: string
  /** It held a secret, and a fixed sentence stands in its place. */
  isRefused: boolean
  /** What was changed, in sentences for the owner. */
  changes: string[]
  files?: readonly MadeFile[]
}

/** The words that are sent for this answer; {@link BackendFailed} where it shows nothing. */
export function outgoing(
  answer: string,
  secrets: readonly (string | Uint8Array)[],
  files: readonly MadeFile[] = [],
): Outgoing {
  const plain = plainText(answer).trim()
  const text = cut(plain)
  const isTold = [answer, text, ...files.flatMap(textsOf)].some(words => holdsSecret(words, secrets))
  if (isTold)
    return {
      text: REFUSED_REPLY,
      isRefused: true,
      changes: ['replaced: it held a secret of this node'],
    }
  if (text === '') throw new BackendFailed('the answer holds nothing that shows')
  const changes = [
    ...(plain === answer.replaceAll('\r\n', '\n').trim()
      ? []
      : ['control, bidirectional or invisible characters were taken off']),
    ...(text === plain ? [] : [`cut: ${text.length} of ${plain.length} characters are sent`]),
  ]
  return { text, isRefused: false, changes, ...present({ files: files.length === 0 ? undefined : files }) }
}

/** What a file may say: its name, and its bytes in each reading. */
const textsOf = ({ name, content }: MadeFile): string[] => {
  const bytes = Buffer.from(content)
  return [name, bytes.toString('latin1'), bytes.toString('utf8'), bytes.toString('utf16le')]
}

/** Whole characters, as many as are sent. */
const cut = (text: string): string =>
  text.length <= ANSWER_CHARACTERS_MAX
    ? text
    : text.slice(0, ANSWER_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '')
