/**
 * Key sets (`enc_keys`): the weekly encryption keys of an agent, its mailbox key and epoch, and what it takes from
 * strangers; and the notice by which two parties detect a hub that shows them different key states.
 */

import { labelledHash } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { equal } from '../encoding/bytes.ts'
import { Refusal } from '../encoding/errors.ts'
import { bytes, type Infer, list, literal, record, required, uint } from '../encoding/record.ts'
import { aid } from './aid.ts'
import type { VerifiedKel } from './kel.ts'
import { keyAt } from './kel.ts'

/** From `ts` to `exp` of every key set: 90 days in milliseconds, objects §5. */
export const KEY_SET_LIFE_MS = 90 * 86_400_000
/** From not before to not after of a node's own keys: 7 days in milliseconds. */
export const KEY_RENEWAL_MS = 7 * 86_400_000
/** How long a hub goes on taking envelopes sealed to the kids of the set before. */
export const KEY_GRACE_MS = 24 * 3_600_000
/** How long a node keeps a private key after the hub confirmed the set that no longer holds it. */
export const KEY_DELETION_MS = 15 * 86_400_000 + 3_600_000
/** Bytes of an X-Wing public key, objects §5. */
export const ENCRYPTION_KEY_BYTES = 1216
/** Encryption keys of one set at most, objects §5. */
export const ENCRYPTION_KEYS_MAX = 4
/** Bytes that a set takes of one first-contact envelope at least, objects §5. */
export const STRANGER_BYTES_MIN = 384 * 1024
/** The one suite of keys and envelopes, objects §5 and §6. */
export const SUITE = 1
const KEY_SET_BODY_BYTES_MAX = 8192

const EncryptionKey = record('encryption key', {
  kid: required(1, bytes(8)),
  suite: required(2, literal(SUITE)),
  publicKey: required(3, bytes(ENCRYPTION_KEY_BYTES)),
  notBefore: required(4, uint),
  notAfter: required(5, uint),
})
/** `kid` of 8 bytes, `publicKey` of 1,216, times in Unix milliseconds (objects §5). */
export type EncryptionKey = Infer<typeof EncryptionKey>

const StrangerLimits = record('stranger limits', {
  /** Bytes of one first-contact envelope. */
  bytes: required(1, uint),
  /** First-contact envelopes per sender and UTC day; 0 takes none. */
  perDay: required(2, uint),
})
/** Key 10 of a key set, objects §5. */
export type StrangerLimits = Infer<typeof StrangerLimits>

/** Keys 1 to 10 of a key set, objects §5; decoding throws Malformed. */
export const KeySetBody = record('key set', {
  v: required(1, literal(1)),
  aid: required(2, aid),
  kelSeq: required(3, uint),
  setSeq: required(4, uint),
  ts: required(5, uint),
  exp: required(6, uint),
  keys: required(7, list(EncryptionKey, ENCRYPTION_KEYS_MAX, 1)),
  mailboxKey: required(8, bytes(32)),
  mailboxEpoch: required(9, bytes(16)),
  strangers: required(10, StrangerLimits),
})
/** Times in Unix milliseconds, `mailboxKey` of 32 bytes, `mailboxEpoch` of 16. */
export type KeySetBody = Infer<typeof KeySetBody>

/** `[body, sig]` by the identity key, body of at most 8 KiB, objects §5. */
export const KeySet = signed('svc-keys/v1', KeySetBody, KEY_SET_BODY_BYTES_MAX)
/** As parsed: {@link verifyKeySet} checks its signature. */
export type KeySet = Signed<KeySetBody>

declare const verified: unique symbol
/** A key set that belongs to the log's present key state. */
export type VerifiedKeySet = KeySet & { readonly [verified]: true }

/** H("svc-kid/v1" ‖ 00 ‖ pk)[:8]: names an encryption key. */
export function kidOf(publicKey: Uint8Array): Uint8Array {
  return labelledHash('svc-kid/v1', publicKey).slice(0, 8)
}

/** Why a key set is refused, objects §5. */
export type KeySetFault =
  | 'aid'
  | 'deactivated'
  | 'kel_seq'
  | 'life'
  | 'kid'
  | 'stranger_limits'
  | 'set_seq'
  | 'signature'

/** A key set that does not verify under the log beside it; `code` is the {@link KeySetFault}. */
export class KeySetInvalid extends Refusal<KeySetFault> {
  override name = 'KeySetInvalid'
  constructor(fault: KeySetFault) {
    super(fault, `key set does not verify: ${fault.replaceAll('_', ' ')}`)
  }
}

/** The set, if it is the log owner's, signed by the log's last key; else throws {@link KeySetInvalid}. */
export function verifyKeySet(log: VerifiedKel, set: KeySet): VerifiedKeySet {
  const { body } = set
  if (body.aid !== log.aid) throw new KeySetInvalid('aid')
  if (log.deactivated) throw new KeySetInvalid('deactivated')
  if (body.kelSeq !== log.seq) throw new KeySetInvalid('kel_seq')
  if (body.exp !== body.ts + KEY_SET_LIFE_MS) throw new KeySetInvalid('life')
  if (body.setSeq < 1) throw new KeySetInvalid('set_seq')
  if (body.strangers.bytes < STRANGER_BYTES_MIN) throw new KeySetInvalid('stranger_limits')
  if (!body.keys.every(key => equal(key.kid, kidOf(key.publicKey)))) throw new KeySetInvalid('kid')
  if (!KeySet.verify(log.publicKey, set)) throw new KeySetInvalid('signature')
  return set as VerifiedKeySet
}

/** The key to seal to: the newest one, usable past its "not after" until the set's own end. */
export function sealingKey(set: VerifiedKeySet, now: number): EncryptionKey | undefined {
  if (now > set.body.exp) return undefined
  return set.body.keys.reduce((newest, key) => (key.notBefore > newest.notBefore ? key : newest))
}

/** What becomes of a set beside the stored one, objects §5. */
export type KeySetVerdict = 'stored' | 'unchanged' | 'rollback'

/** What becomes of a set put beside the stored one; `prevSeq` where given must name the stored set (0: none). */
export function keySetVerdict(
  stored: { kelSeq: number; setSeq: number; bodyBytes: Uint8Array } | undefined,
  set: KeySet,
  prevSeq: number | undefined,
): KeySetVerdict {
  if (stored !== undefined && equal(stored.bodyBytes, set.bodyBytes)) return 'unchanged'
  const current = stored !== undefined && stored.kelSeq === set.body.kelSeq ? stored.setSeq : 0
  if (stored !== undefined && stored.kelSeq > set.body.kelSeq) return 'rollback'
  if (prevSeq !== undefined && prevSeq !== current) return 'rollback'
  return set.body.setSeq > current ? 'stored' : 'rollback'
}

const KeyStateNoticeBody = record('key state notice', {
  aid: required(1, aid),
  seq: required(2, uint),
  headDigest: required(3, bytes(32)),
  hubTs: required(4, uint),
  hub: required(5, aid),
  hubSeq: required(6, uint),
})
/** `headDigest` of 32 bytes, `hubTs` in Unix milliseconds by the hub's clock (objects §5). */
export type KeyStateNoticeBody = Infer<typeof KeyStateNoticeBody>

/** A hub's signed statement of the key state it shows for an agent. */
export const KeyStateNotice = signed('svc-ksn/v1', KeyStateNoticeBody, 256)
/** As parsed: {@link noticeIsOf} checks its signature. */
export type KeyStateNotice = Signed<KeyStateNoticeBody>

/** Whether the hub of this log signed a notice. */
export function noticeIsOf(notice: KeyStateNotice, hub: VerifiedKel): boolean {
  const key = notice.body.hub === hub.aid ? keyAt(hub, notice.body.hubSeq) : undefined
  return key !== undefined && KeyStateNotice.verify(key, notice)
}

/** Whether the notice is the hub's and agrees with the log. */
export function noticeAgrees(notice: KeyStateNotice, log: VerifiedKel, hub: VerifiedKel): boolean {
  return (
    noticeIsOf(notice, hub) &&
    notice.body.aid === log.aid &&
    notice.body.seq === log.seq &&
    equal(notice.body.headDigest, log.headDigest)
  )
}
