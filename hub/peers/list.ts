/**
 * `federation.json` in the data directory: the hubs that the operator listed, each with the key history by which it is
 * known. A running hub reads it again when it has changed.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { aidShape, count } from '../../protocol/contract/shapes.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { Refusal, systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, encodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Alert } from '../core/context.ts'
import { FEDERATION_FILE, type Peer, Peers } from '../core/federation/peers.ts'
import { isHubUrl } from '../core/hub-url.ts'

export const PEERS_MAX = 64
const URL_CHARS_MAX = 256
const LOOKED_EVERY_MS = 2000
const PRIVATE = 0o600

const url = z.string().max(URL_CHARS_MAX).refine(isHubUrl, 'expected an http or https URL')
const fileShape = z.strictObject({
  peers: z
    .array(
      z.strictObject({
        aid: aidShape,
        url: url.optional(),
        wire1_url: url.optional(),
        kel: z.string(),
        credit_limit: count.optional(),
      }),
    )
    .max(PEERS_MAX),
})

/** The list can't be used. */
export class PeersRefused extends Refusal<'federation'> {
  override name = 'PeersRefused'
  /** What is so, and what to do next. */
  readonly found: string
  readonly next: string
  constructor(found: string, next: string, options?: ErrorOptions) {
    super('federation', `${found}; ${next}`, options)
    this.found = found
    this.next = next
  }
}

export class PeerList {
  readonly #folder: string
  readonly #peers: Peers
  #seen = ''
  #stop: (() => void) | undefined

  constructor(folder: string, peers: Peers) {
    this.#folder = folder
    this.#peers = peers
    peers.onFollowed(() => this.#write(peers.all))
  }

  get path(): string {
    return join(this.#folder, FEDERATION_FILE)
  }

  /** Takes the list over as it stands; throws {@link PeersRefused} where it can't be used, and keeps the one held then. */
  load(): void {
    const seen = this.#mark()
    this.#seen = seen
    this.#peers.replace(seen === '' ? [] : readPeers(this.path))
  }

  /** Looks after changes until it is closed; a list that can't be used is told and the one held kept. */
  watch(timers: Timers, alert: Alert): void {
    const timer = timers.every(LOOKED_EVERY_MS, () => {
      try {
        if (this.#mark() !== this.#seen) this.load()
      } catch (error) {
        alert('the list of peers cannot be used; the one before it stays', { why: wordsOf(error) })
      }
    })
    timer.unref()
    this.#stop = () => timers.clear(timer)
  }

  close(): void {
    this.#stop?.()
  }

  /** Lists a peer, or its new addresses; what it may owe stays. */
  add(given: Peer): void {
    const peer = listedAgain(this.#peers.find(given.aid), given)
    const others = this.#peers.all.filter(({ aid }) => aid !== peer.aid)
    if (others.length >= PEERS_MAX)
      throw new PeersRefused(`${PEERS_MAX} peers are listed already`, 'take one off: svc-hub peers rm <AID>')
    const taken = [peer.url, peer.openUrl].find(
      one => one !== undefined && others.some(({ url, openUrl }) => url === one || openUrl === one),
    )
    if (taken !== undefined)
      throw new PeersRefused(
        `another peer is listed at ${taken}`,
        'take it off first: svc-hub peers rm <AID>',
      )
    this.#write([...others, peer])
  }

  /** From here on a peer may owe so many credits; false where it is not listed. */
  limit(aid: string, creditLimit: number): boolean {
    if (this.#peers.find(aid) === undefined) return false
    this.#write(this.#peers.all.map(peer => (peer.aid === aid ? { ...peer, creditLimit } : peer)))
    return true
  }

  /** Takes a peer off the list; false where it is not on it. */
  remove(aid: string): boolean {
    const left = this.#peers.all.filter(peer => peer.aid !== aid)
    if (left.length === this.#peers.all.length) return false
    this.#write(left)
    return true
  }

  #write(peers: readonly Peer[]): void {
    const shown = peers.map(({ aid, url, openUrl, isOpenOnly, log, creditLimit }) => ({
      aid,
      ...(isOpenOnly !== true && { url }),
      ...present({ wire1_url: openUrl }),
      kel: toBase64url(encodeKel(log.events)),
      ...present({ credit_limit: creditLimit }),
    }))
    const next = `${this.path}.new`
    writeFileSync(next, `${JSON.stringify({ peers: shown }, null, 2)}\n`, { mode: PRIVATE, flush: true })
    renameSync(next, this.path)
    this.load()
  }

  /** Changes when the file does; empty where there is none. */
  #mark(): string {
    try {
      const { mtimeMs, size, ino } = statSync(this.path)
      return `${mtimeMs} ${size} ${ino}`
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return ''
      throw error
    }
  }
}

/** What it may owe stays, and an address of a kind of which none is given. */
function listedAgain(held: Peer | undefined, given: Peer): Peer {
  const { creditLimit, openUrl } = held ?? {}
  const peer = { ...present({ creditLimit, openUrl }), ...given }
  if (given.isOpenOnly !== true || held === undefined || held.isOpenOnly === true) return peer
  const { isOpenOnly: _, ...both } = peer
  return { ...both, url: held.url }
}

/** The list of a data directory, read; throws {@link PeersRefused} where it can't be used. */
export function openPeers(folder: string): { peers: Peers; peerList: PeerList } {
  const peers = new Peers()
  const peerList = new PeerList(folder, peers)
  peerList.load()
  return { peers, peerList }
}

function readPeers(path: string): Peer[] {
  try {
    const { peers } = fileShape.parse(parseJson(readFileSync(path)))
    return peers.map(({ aid, url: sealedUrl, wire1_url: openUrl, kel, credit_limit: creditLimit }) => {
      const url = sealedUrl ?? openUrl
      if (url === undefined) throw new Error(`${aid} has neither url nor wire1_url`)
      const log = verifyKel(decodeKel(fromBase64url(kel)))
      if (log.aid !== aid) throw new Error(`the key history of ${aid} is that of ${log.aid}`)
      const ofOpen = present({ openUrl, isOpenOnly: sealedUrl === undefined ? true : undefined })
      return { aid, url, log, ...ofOpen, ...present({ creditLimit }) }
    })
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : wordsOf(error)
    throw new PeersRefused(
      `${path} cannot be used: ${why}`,
      'correct it, or take it away and list the peers anew: svc-hub peers add <url>',
      { cause: error },
    )
  }
}
