/**
 * Witness entries of a key event log (objects: identity): a hub signs when it saw an event. They are evidence of
 * time and no part of an event's identity.
 */
import { labelledSign, labelledVerify } from '../crypto/hash.ts'
import { encode } from '../encoding/cbor.ts'
import { aidBytes } from './aid.ts'
import {
  eventDigest,
  type KeyEvent,
  keyAt,
  type VerifiedKel,
  WITNESS_ENTRIES_MAX,
  type WitnessEntry,
} from './kel.ts'

const LABEL = 'svc-kel-wit/v1'

function witnessMessage(identifier: string, event: KeyEvent, ts: number): Uint8Array {
  return encode([aidBytes(identifier), event.body.seq, eventDigest(event.bodyBytes), ts])
}

/** The log with `hub`'s witness entry on its last event; an entry of the same hub is kept as it is. */
export function witnessKel(
  log: VerifiedKel,
  hub: { aid: string; seq: number; seed: Uint8Array },
  ts: number,
): VerifiedKel {
  const last = log.events.at(-1) as KeyEvent
  if (last.witnesses.some(entry => entry.hub === hub.aid)) return log
  const signature = labelledSign(LABEL, hub.seed, witnessMessage(log.aid, last, ts))
  const entry: WitnessEntry = { hub: hub.aid, hubSeq: hub.seq, ts, signature }
  const { body, bodyBytes, signatures } = last
  const event = {
    body,
    bodyBytes,
    signatures,
    witnesses: [...last.witnesses, entry].slice(-WITNESS_ENTRIES_MAX),
  }
  return { ...log, events: [...log.events.slice(0, -1), event] }
}

/** Time at which `hub` witnessed the event at `seq`, when its entry is there and verifies. */
export function witnessedAt(log: VerifiedKel, seq: number, hub: VerifiedKel): number | undefined {
  const event = log.events[seq]
  if (event === undefined) return undefined
  for (const entry of event.witnesses) {
    const key = entry.hub === hub.aid ? keyAt(hub, entry.hubSeq) : undefined
    if (key === undefined) continue
    const message = witnessMessage(log.aid, event, entry.ts)
    if (labelledVerify(LABEL, key, message, entry.signature)) return entry.ts
  }
  return undefined
}
