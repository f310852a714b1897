/** What an agent signs to use a route of wire 1: an action and a time, nothing of the request. */
import { sign } from '#crypto'
import { toBase64, utf8 } from '../encoding/bytes.ts'

/** The members of a request that carry a challenge. */
export type ChallengeMembers = { aid: string; ts: number; key_state_seq: number; sig: string }

/** `svc-relay/<action>/<aid>/<ts>` as bytes. */
export const challengeText = (action: string, aid: string, ts: number): Uint8Array =>
  utf8(`svc-relay/${action}/${aid}/${ts}`)

/** Signs a challenge; `seq` is the key state whose `seed` signs. */
export function signChallenge(
  { action, aid, ts }: { action: string; aid: string; ts: number },
  { seed, seq }: { seed: Uint8Array; seq: number },
): ChallengeMembers {
  return { aid, ts, key_state_seq: seq, sig: toBase64(sign(seed, challengeText(action, aid, ts))) }
}
