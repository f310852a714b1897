/**
 * What this node knows of others' keys: verified logs and key sets, learned from messages or from a
 * directory.
 */

import { equal } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import {
  compareKel,
  decodeKel,
  encodeKel,
  KelInvalid,
  type KeyEvent,
  type VerifiedKel,
  verifyKel,
  type WitnessEntry,
} from '../../protocol/identity/kel.ts'
import { timesAcceptable } from '../../protocol/identity/kel-times.ts'
import { witnessedAt } from '../../protocol/identity/kel-witness.ts'
import { KeySet, KeySetInvalid, type VerifiedKeySet, verifyKeySet } from '../../protocol/identity/keyset.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import { keepPeer, peerRow } from '../store/peers.ts'
import { noteFork } from './contradictions.ts'

/** As hubs allow it. */
const SET_AHEAD_MAX_MS = 5 * 60_000
const LOGS_CACHED_MAX = 256
/** As many as an event in a log may carry. */
const WITNESS_ENTRIES_MAX = 8

export type Peer = {
  aid: string
  log: VerifiedKel
  keys: VerifiedKeySet | undefined
}
type Verified = { peer: Peer; log: Uint8Array; keys: Uint8Array | null }

const isSame = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : equal(one, other)

/**
 * A log that verifies and is not taken: it contradicts the one held, of which the first seen stays, or holds a new
 * event of the future, which is taken once its time has come.
 */
class LogRefused extends Refusal<'forked' | 'ahead'> {
  override name = 'LogRefused'
}

/** Whether a log was refused for what it is, and not because something failed here. */
export function isUnusable(error: unknown): boolean {
  return error instanceof KelInvalid || error instanceof LogRefused
}

export class PeerBook {
  #store: Store
  #now: () => number
  #hub: { readonly home: HubClient | undefined }
  /** What stored bytes were verified to say; it holds only for these very bytes. */
  #verified = new Map<string, Verified>()

  constructor(store: Store, now: () => number, hub: { readonly home: HubClient | undefined }) {
    this.#store = store
    this.#now = now
    this.#hub = hub
  }

  /** The peer as far as it is known here. */
  find(aid: string): Peer | undefined {
    const row = peerRow(this.#store, aid)
    if (row === undefined) return undefined
    const verified = this.#verified.get(aid)
    if (verified !== undefined && equal(verified.log, row.log) && isSame(verified.keys, row.keys))
      return verified.peer
    const log = verifyKel(decodeKel(row.log))
    const keys = row.keys === null ? undefined : usableKeys(log, KeySet.decode(row.keys))
    return this.#remember({ peer: { aid, log, keys }, log: row.log, keys: row.keys })
  }

  /**
   * The log that a message or box offers, merged with the one held, not yet stored: longer wins, a fork is refused.
   */
  merge(aid: string, offered: readonly KeyEvent[]): VerifiedKel {
    const held = this.find(aid)?.log
    if (held === undefined) {
      const log = verifyKel(offered)
      if (log.aid !== aid) throw new KelInvalid('wrong_aid')
      return this.#timely(log, 0)
    }
    const verdict = compareKel(held, offered)
    if (verdict.verdict === 'fork') {
      noteFork(this.#store, aid, verdict.held, verdict.submitted)
      throw new LogRefused('forked', `${aid} showed two contradictory key histories`)
    }
    return verdict.verdict === 'extends'
      ? this.#timely(verdict.log, held.events.length)
      : withWitnesses(held, offered, this.#hub.home?.identity.log)
  }

  /** The log, unless an event that is new here lies ahead of our clock and of the hub's. */
  #timely(log: VerifiedKel, known: number): VerifiedKel {
    const now = Math.max(this.#now(), this.#hub.home?.timeMs ?? 0)
    if (!timesAcceptable(log, known, now))
      throw new LogRefused('ahead', `${log.aid} showed a key event from the future`)
    return log
  }

  /** Keeps a merged log, and a key set when it belongs to that log and is newer than the one held. */
  learn(log: VerifiedKel, set: KeySet | undefined): Peer {
    const held = this.find(log.aid)
    const offered = set === undefined || !this.#isOfNow(set) ? undefined : usableKeys(log, set)
    const current = held?.keys !== undefined && held.keys.body.kelSeq === log.seq ? held.keys : undefined
    const keys = newerOf(current, offered)
    if (held !== undefined && held.log === log && held.keys === keys) return held
    const stored = { log: encodeKel(log.events), keys: keys === undefined ? null : KeySet.encode(keys) }
    keepPeer(this.#store, { aid: log.aid, ...stored })
    return this.#remember({ peer: { aid: log.aid, log, keys }, ...stored })
  }

  /** Neither expired nor dated ahead: its hub would take neither, so an answer under it would never arrive. */
  #isOfNow({ body: { ts, exp } }: KeySet): boolean {
    const now = Math.max(this.#now(), this.#hub.home?.timeMs ?? 0)
    return exp >= now && ts <= now + SET_AHEAD_MAX_MS
  }

  /** State of our own log and key set that this peer was shown; null when it needs them again. */
  introducedTo(aid: string): string | null {
    return peerRow(this.#store, aid)?.introduced ?? null
  }

  #remember(verified: Verified): Peer {
    const { peer } = verified
    this.#verified.delete(peer.aid)
    this.#verified.set(peer.aid, verified)
    if (this.#verified.size > LOGS_CACHED_MAX)
      this.#verified.delete(this.#verified.keys().next().value as string)
    return peer
  }
}

/** The offered set unless it is older than the one held, or the very same. */
function newerOf(
  held: VerifiedKeySet | undefined,
  offered: VerifiedKeySet | undefined,
): VerifiedKeySet | undefined {
  if (held === undefined || offered === undefined) return offered ?? held
  const isNews = offered.body.setSeq >= held.body.setSeq && !equal(offered.bodyBytes, held.bodyBytes)
  return isNews ? offered : held
}

/** The set when it verifies under the log's present key state. */
function usableKeys(log: VerifiedKel, set: KeySet): VerifiedKeySet | undefined {
  try {
    return verifyKeySet(log, set)
  } catch (error) {
    if (error instanceof KeySetInvalid) return undefined
    throw error
  }
}

/**
 * Witness entries are no part of an event's identity: those of hubs that the held log lacks are taken over, one a hub.
 * Of our own hub, whose log we know, only a genuine one is, in the place of one that is not.
 */
function withWitnesses(
  held: VerifiedKel,
  offered: readonly KeyEvent[],
  home: VerifiedKel | undefined,
): VerifiedKel {
  let gained = false
  const events = held.events.map((event, seq) => {
    const isGenuine = (entry: WitnessEntry) =>
      home !== undefined && witnessedAt(withEntries(held, seq, [entry]), seq, home) !== undefined
    const witnesses = united(event.witnesses, offered[seq]?.witnesses ?? [], home?.aid, isGenuine)
    if (witnesses.every(entry => event.witnesses.includes(entry))) return event
    gained = true
    return { ...event, witnesses }
  })
  return gained ? { ...held, events } : held
}

const withEntries = (log: VerifiedKel, seq: number, witnesses: WitnessEntry[]): VerifiedKel => ({
  ...log,
  events: log.events.map((event, n) => (n === seq ? { ...event, witnesses } : event)),
})

function united(
  held: readonly WitnessEntry[],
  offered: readonly WitnessEntry[],
  home: string | undefined,
  isGenuine: (entry: WitnessEntry) => boolean,
): WitnessEntry[] {
  const isHeld = (entry: WitnessEntry) => held.some(one => equal(one.signature, entry.signature))
  const others = new Map<string, WitnessEntry>()
  let ours: WitnessEntry | undefined
  for (const entry of [...held, ...offered.filter(one => !isHeld(one))]) {
    if (entry.hub !== home) {
      if (!others.has(entry.hub)) others.set(entry.hub, entry)
    } else if ((ours === undefined || !isGenuine(ours)) && (held.includes(entry) || isGenuine(entry)))
      ours = entry
  }
  const room = WITNESS_ENTRIES_MAX - (ours === undefined ? 0 : 1)
  return [...[...others.values()].slice(0, room), ...(ours === undefined ? [] : [ours])]
}
