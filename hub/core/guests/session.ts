/** What a session of a visitor becomes with each step. Nothing here waits, and nothing is changed in place. */
import { utf8 } from '../../../protocol/encoding/bytes.ts'
import type { GuestSession, GuestWord } from '../ports/guests.ts'
import { withoutRoom } from '../refusal.ts'

const WAITING_MAX = 200
const WAITING_BYTES_MAX = 1024 * 1024
/** What a word takes beside its text. */
const WORD_BYTES = 64
/** So many messages may come before one that is missing. */
const BEYOND_MAX = 256
/** A message takes no longer to leave. */
const UNDER_WAY_MAX_MS = 60_000

export type Opening = Pick<GuestSession, 'id' | 'handler' | 'task' | 'owner' | 'remaining' | 'seenMs'>

/** A session in which nothing was said yet. */
export const opened = (given: Opening): GuestSession => ({
  ...given,
  ...{ version: 0, sent: 0, lastName: undefined, sendingSinceMs: undefined, heardUpTo: 0, heardBeyond: [] },
  ...{ waiting: [], waitingBytes: 0, fetched: 0, endNumber: undefined, state: 'open' },
})

/** What becomes of a message that a visitor sends: one under the name of the last one is that one. */
export function fateOf(
  { state, remaining, lastName, sendingSinceMs }: GuestSession,
  name: string | undefined,
  nowMs: number,
): 'leaves' | 'repeated' | 'underWay' | 'limitReached' | 'ended' {
  if (state === 'ended') return 'ended'
  const isSame = name !== undefined && name === lastName
  if (isSame && sendingSinceMs === undefined) return 'repeated'
  // whoever sent it may have died over it
  if (isSame && nowMs - (sendingSinceMs as number) < UNDER_WAY_MAX_MS) return 'underWay'
  return remaining <= 0 ? 'limitReached' : 'leaves'
}

/** One of the visitor's messages is on its way. */
export const sending = (session: GuestSession, name: string | undefined, nowMs: number): GuestSession => ({
  ...session,
  remaining: session.remaining - 1,
  sent: session.sent + 1,
  ...(name !== undefined && { lastName: name, sendingSinceMs: nowMs }),
})

/** The message of this name has left. */
export const left = (session: GuestSession, name: string): GuestSession =>
  session.lastName === name ? { ...session, sendingSinceMs: undefined } : session

/** The message of a number, and of a name where it has one, did not leave. */
export const notSent = (session: GuestSession, number: number, name?: string): GuestSession => ({
  ...session,
  remaining: session.remaining + 1,
  sent: session.sent === number ? number - 1 : session.sent,
  ...(name !== undefined && session.lastName === name && { lastName: undefined, sendingSinceMs: undefined }),
})

/** The visitor has all words before the one of this count, and may drop them. */
export function without(session: GuestSession, count: number): GuestSession {
  const waiting = session.waiting.slice(Math.max(0, count - session.fetched))
  return {
    ...session,
    waiting,
    waitingBytes: waiting.reduce((sum, word) => sum + bytesOf(word), 0),
    fetched: session.fetched + session.waiting.length - waiting.length,
  }
}

/** The visitor ends it, or accepts the end that its handler asked for. */
export const ending = (session: GuestSession): GuestSession => ({
  ...session,
  sent: session.sent > 0 ? session.sent + 1 : 0,
  state: 'ended',
})

const GONE: GuestWord = { body: 'This agent is not here any more.', system: true, end: 'accepted' }

/** The handler was taken off, so the visit is over; its visitor still reads what came, and why. */
export function handlerGone(session: GuestSession): GuestSession {
  const waiting = [...session.waiting, GONE]
  return { ...session, waiting, waitingBytes: session.waitingBytes + bytesOf(GONE), state: 'ended' }
}

/** The word of that end did not leave. */
export const notEnded = (session: GuestSession, { state, sent }: GuestSession): GuestSession => ({
  ...session,
  state,
  sent: session.sent === sent + 1 ? sent : session.sent,
})

/** A message of the handler came, with something to read or without; one that came before changes nothing. */
export function heard(session: GuestSession, number: number, word: GuestWord | undefined): GuestSession {
  const { heardUpTo, heardBeyond, waiting } = session
  if (number > 0 && (number <= heardUpTo || heardBeyond.includes(number))) return session
  if (heardBeyond.length >= BEYOND_MAX && number !== heardUpTo + 1) throw withoutRoom('messages out of turn')
  const counted = number === 0 ? session : { ...session, ...reaching(heardUpTo, [...heardBeyond, number]) }
  if (word === undefined) return counted
  const waitingBytes = session.waitingBytes + bytesOf(word)
  if (waiting.length >= WAITING_MAX || waitingBytes > WAITING_BYTES_MAX)
    throw withoutRoom('more words for this visitor')
  return { ...counted, waiting: [...waiting, word], waitingBytes, ...endOf(session, number, word) }
}

const bytesOf = ({ body }: GuestWord): number => utf8(body).length + WORD_BYTES

/** How far all messages came, and which came beyond. */
function reaching(upTo: number, beyond: readonly number[]): Pick<GuestSession, 'heardUpTo' | 'heardBeyond'> {
  let heardUpTo = upTo
  while (beyond.includes(heardUpTo + 1)) heardUpTo++
  return { heardUpTo, heardBeyond: beyond.filter(number => number > heardUpTo) }
}

function endOf(
  { state }: GuestSession,
  number: number,
  { end }: GuestWord,
): Partial<Pick<GuestSession, 'state' | 'endNumber'>> {
  if (end === 'accepted') return { state: 'ended' }
  return end === 'requested' && state === 'open' ? { state: 'endRequested', endNumber: number } : {}
}

/** Numbers of the handler's messages that are missing before the last that came. */
export function missingOf({ heardUpTo, heardBeyond }: GuestSession): {
  peerHighest: number
  missing: number[]
} {
  const peerHighest = Math.max(heardUpTo, ...heardBeyond)
  const missing = Array.from({ length: peerHighest - heardUpTo }, (_, at) => heardUpTo + 1 + at)
  return { peerHighest, missing: missing.filter(number => !heardBeyond.includes(number)) }
}
