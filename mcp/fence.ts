/**
 * The one place where words that did not originate on this node are fenced before a model reads them: whatever a tool
 * returns is fenced unless it is marked as this node's own, or has the form that its member always has.
 */
import { plainText } from '../protocol/encoding/plain-text.ts'

/** Wraps foreign words in this result's random marker, control characters removed. */
export type Fence = (text: string) => string

export const openMarker = (marker: string): string => `<<untrusted ${marker}>>`

export function fenceWith(marker: string): Fence {
  return text => (text === '' ? '' : `${openMarker(marker)}${plainText(text)}<</untrusted ${marker}>>`)
}

/** Words of this node or its user, marked so by a tool. */
export class OwnWords {
  readonly #text: string
  constructor(text: string) {
    this.#text = plainText(text)
  }
  toJSON(): string {
    return this.#text
  }
  toString(): string {
    return this.#text
  }
}
export const own = (text: string): OwnWords => new OwnWords(text)

const AID = /^(me|A[A-Za-z0-9_-]{43})$/
const ID = /^[A-Za-z0-9_-]{1,64}$/
const WORD = /^[a-z]{1,12}(_[a-z]{1,12}){0,3}$/
const STATUS = /^[A-Z]{1,12}(_[A-Z]{1,12})?$/
const TIME = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const CURSOR = /^[A-Za-z0-9_.:=-]{1,64}$/

/** Members whose strings have one form only, which leaves no room for a sentence. */
const forms: Readonly<Record<string, RegExp>> = {
  aid: AID,
  peer: AID,
  from: AID,
  provider_aid: AID,
  requester_aid: AID,
  caller_aid: AID,
  counterparty: AID,
  hub: AID,
  network: /^hub:A[A-Za-z0-9_-]{43}$/,
  transaction: /^b[a-z2-7]{58}$/,
  trial: WORD,
  // of an entry of the account: what became of it
  payment: WORD,
  interaction_id: ID,
  message_id: ID,
  receipt_id: ID,
  review_cid: ID,
  request_cid: ID,
  result_cid: ID,
  cid: ID,
  id: ID,
  head_id: ID,
  state: /^([a-z]{1,12}(_[a-z]{1,12})?|ACTIVE|QUARANTINED)$/,
  status: STATUS,
  kind: WORD,
  delivery: WORD,
  waiting_for: WORD,
  outcome: WORD,
  auto_reply: WORD,
  event_type: /^svc(\.[a-z]{1,12}){1,3}$/,
  next_cursor: CURSOR,
  new_cursor: CURSOR,
  at: TIME,
  last_at: TIME,
  answer_by: TIME,
  last_contact_at: TIME,
  probation_until: TIME,
  chain_did: /^did:svc:A[A-Za-z0-9_-]{43}$/,
}
/** A code, as hubs refuse with: it leaves no room for a sentence. */
export const isCode = (text: string): boolean => WORD.test(text)

/** Names that every object inherits are names of others like any. */
const hasItsForm = (member: string, value: string): boolean =>
  Object.hasOwn(forms, member) && forms[member]?.test(value) === true
const MEMBER = /^[a-z][a-z0-9_]{0,31}$/

/** A result with every foreign string fenced, also as the name of a member; done twice it stays the same. */
export function fenced(value: unknown, fence: Fence, member = ''): unknown {
  if (value instanceof OwnWords) return value.toJSON()
  if (typeof value === 'string')
    return isFenced(value, fence) || hasItsForm(member, value) ? value : fence(value)
  if (Array.isArray(value)) return value.map(item => fenced(item, fence, member))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => [
      MEMBER.test(name) ? name : fence(name),
      fenced(held, fence, name),
    ]),
  )
}

/** The marker is random for each result: nobody else could have written it. */
function isFenced(text: string, fence: Fence): boolean {
  const [open, close] = fence('\n').split('\n') as [string, string]
  return (
    text === '' ||
    (text.startsWith(open) && text.endsWith(close) && text.length >= open.length + close.length)
  )
}
