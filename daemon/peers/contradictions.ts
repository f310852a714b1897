/**
 * What a hub shows of the keys of others and what was seen of them before. A log that was seen once stays, whatever is
 * shown later; where what is shown contradicts it, both are kept and the owner is told of whom.
 */

import { type CborValue, encode } from '../../protocol/encoding/cbor.ts'
import type { DirectoryEntry } from '../../protocol/identity/directory.ts'
import { compareKel, type KeyEvent, kelItem, keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import { KeyStateNotice, noticeAgrees } from '../../protocol/identity/keyset.ts'
import { contradicted, dropContradiction, keepContradiction } from '../store/contradictions.ts'
import { count, counted } from '../store/counters.ts'
import type { Store } from '../store/open.ts'

const FORKS_COUNTED = 'peer_forks'

/** Two valid events for one place: whoever has the keys signed both. */
export function noteFork(store: Store, aid: string, held: KeyEvent, shown: KeyEvent): void {
  count(store, FORKS_COUNTED)
  keepContradiction(store, 'fork', aid, encode(kelItem.write([held, shown]) as CborValue))
}

/**
 * Compares what a hub shows now with the log held before: one that ends before an event of which the same hub signed
 * that it saw it, and a notice that names another state than the log beside it.
 */
export function noteShown(
  store: Store,
  hub: VerifiedKel,
  aid: string,
  { held, entry }: { held: VerifiedKel | undefined; entry: Pick<DirectoryEntry, 'kel' | 'notice'> },
): void {
  const isCut = held !== undefined && isOlderThanWitnessed(held, entry.kel, hub)
  keep(store, 'cut', aid, isCut ? encode(kelItem.write([...entry.kel]) as CborValue) : undefined)
  const differs = held !== undefined && !isCut && noticeDiffers(entry.notice, held, entry.kel, hub)
  keep(store, 'notice', aid, differs && entry.notice ? KeyStateNotice.encode(entry.notice) : undefined)
}

function keep(store: Store, kind: 'cut' | 'notice', aid: string, proof: Uint8Array | undefined): void {
  if (proof !== undefined) keepContradiction(store, kind, aid, proof)
  else dropContradiction(store, kind, aid)
}

function isOlderThanWitnessed(held: VerifiedKel, shown: readonly KeyEvent[], hub: VerifiedKel): boolean {
  if (compareKel(held, shown).verdict !== 'rollback') return false
  return held.events.some((_, seq) => seq >= shown.length && witnessedAt(held, seq, hub) !== undefined)
}

/** A notice under a key of the hub that is not known here says nothing. */
function noticeDiffers(
  notice: KeyStateNotice | null,
  held: VerifiedKel,
  shown: readonly KeyEvent[],
  hub: VerifiedKel,
): boolean {
  if (notice === null || compareKel(held, shown).verdict !== 'unchanged') return false
  return (
    notice.body.hub === hub.aid &&
    keyAt(hub, notice.body.hubSeq) !== undefined &&
    !noticeAgrees(notice, held, hub)
  )
}

/** One sentence for each agent whose keys were shown in two ways; `nameOf` says how the owner calls it. */
export function contradictionWarnings(store: Store, nameOf: (aid: string) => string): string[] {
  const forks = counted(store, FORKS_COUNTED)
  const named = contradicted(store, 'fork').map(nameOf)
  return [
    ...(forks > 0 && named.length === 0 ? ['a peer showed two contradictory key histories'] : []),
    ...named.map(
      who =>
        `${who} has two key histories that contradict each other, both signed with its keys: somebody else has these keys, or a backup was put back; the one seen first is kept, and nothing under the other is believed`,
    ),
    ...contradicted(store, 'cut')
      .map(nameOf)
      .map(
        who =>
          `the hub shows an older key history of ${who} than the one that it had signed before: it hides a rotation from others, or came back from a backup; the newer one is kept`,
      ),
    ...contradicted(store, 'notice')
      .map(nameOf)
      .map(
        who =>
          `the hub signed another key state of ${who} than it shows, so others may be shown another one; compare with ${who} on another way`,
      ),
  ]
}
