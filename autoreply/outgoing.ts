/** What of an answer goes to the other party, and what is taken off it before. */
import { plainText } from '../protocol/encoding/plain-text.ts'
import { ANSWER_CHARACTERS_MAX, BackendFailed } from './backend.ts'
import { holdsSecret } from './secrets.ts'

const REFUSED_REPLY = 'I cannot answer this request.'

export type Outgoing = {
  text: string
  /** It held a secret, and a fixed sentence stands in its place. */
  isRefused: boolean
  /** What was changed, in sentences for the owner. */
  changes: string[]
}

/** The words that are sent for this answer; {@link BackendFailed} where it shows nothing. */
export function outgoing(answer: string, secrets: readonly (string | Uint8Array)[]): Outgoing {
  const plain = plainText(answer).trim()
  const text = cut(plain)
  if (holdsSecret(answer, secrets) || holdsSecret(text, secrets))
    return { text: REFUSED_REPLY, isRefused: true, changes: ['replaced: it held a secret of this node'] }
  if (text === '') throw new BackendFailed('the answer holds nothing that shows')
  const changes = [
    ...(plain === answer.replaceAll('\r\n', '\n').trim()
      ? []
      : ['control, bidirectional or invisible characters were taken off']),
    ...(text === plain ? [] : [`cut: ${text.length} of ${plain.length} characters are sent`]),
  ]
  return { text, isRefused: false, changes }
}

/** Whole characters, as many as are sent. */
const cut = (text: string): string =>
  text.length <= ANSWER_CHARACTERS_MAX
    ? text
    : text.slice(0, ANSWER_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '')
