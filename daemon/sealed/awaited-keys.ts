/** Why a message waits for the keys of its recipient, as a value, and in words for whoever reads it. */
import { Refused } from '../../protocol/contract/client.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Lookup, NotKnown } from '../carrier/lookup.ts'
import { isUnreached, reasonOf } from '../hubs/failures.ts'
import { HubStopped } from '../hubs/hub.ts'
import { ownReason, type Reason } from '../store/reasons.ts'

/** `ended` is signed by the recipient itself, and the only one that nothing follows. */
export type AwaitedKeys = 'ended' | 'expired' | 'unusable_keys' | 'not_listed' | NotKnown

const UNSURE = 'whether it lists the recipient is not known yet'

export const sentences: Readonly<Record<AwaitedKeys, string>> = {
  ended: 'the recipient deactivated its identity',
  expired: 'the key set of the recipient has expired',
  unusable_keys: 'the directory lists the recipient without keys that can be used',
  not_listed: 'no reachable hub lists the recipient',
  no_hub: 'this node has no hub whose directory it could ask for the recipient',
  unanswered: `the directory gave no answer; ${UNSURE}`,
  refused: `the directory takes no questions of this node now; ${UNSURE}`,
  incomplete: `a hub that the directory asks did not answer it; ${UNSURE}`,
  unusable: 'what the directory holds of the recipient does not verify now; it is looked up again',
}

/** The keys of the recipient are not here yet. */
export class WaitingForKeys extends Failure {
  override name = 'WaitingForKeys'
  readonly why: AwaitedKeys
  constructor(why: AwaitedKeys, cause?: unknown) {
    super(sentences[why], present({ cause }))
    this.why = why
  }
}

/** What a look-up that found nobody leaves to wait for. */
export const awaitedAfter = (looked: Exclude<Lookup, { outcome: 'found' }>): WaitingForKeys =>
  looked.outcome === 'not_listed'
    ? new WaitingForKeys('not_listed')
    : new WaitingForKeys(looked.why, looked.error)

/** Why it waits, and for how long at least, where the hub said so; the outbox itself looks for a hub that is away. */
export function pauseOf(waiting: WaitingForKeys): { why: Reason<'hub'>; afterMs: number | undefined } {
  const { cause, message } = waiting
  if (isUnreached(waiting)) return { why: reasonOf(cause), afterMs: 0 }
  if (cause instanceof HubStopped) return { why: reasonOf(cause), afterMs: undefined }
  return { why: ownReason(message), afterMs: cause instanceof Refused ? cause.retryAfterMs : undefined }
}
