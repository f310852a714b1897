/** Where somebody who opens a conversation begins to read. */
import type { Thread } from './state.ts'

/** What a person reads, and unread counts; every other kind is a step of the protocol. */
const WORDS: ReadonlySet<string> = new Set([
  'delegate',
  'result',
  'message',
  'quote',
  'declined',
  'cancelled',
])

/** The number of the first turn that was unread, of so many; undefined where none was. */
export function firstNew({ turns }: Pick<Thread, 'turns'>, unread: number): number | undefined {
  const theirs = turns.filter(turn => !turn.mine && WORDS.has(turn.kind))
  return unread <= 0 ? undefined : theirs.at(-Math.min(unread, theirs.length))?.n
}
