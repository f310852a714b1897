/**
 * What a peer tells of an agent with open mail, verified: the agent signed the card under its newest key, and does not name
 * another hub. Attacker: a peer that shows old keys, cards of others, or agents of other hubs as its own.
 */
import { CAPS_MAX, NAME_BYTES_MAX, SUMMARY_BYTES_MAX } from '../../../protocol/contract/limits.ts'
import { capTag } from '../../../protocol/contract/shapes.ts'
import { Malformed, utf8 } from '../../../protocol/encoding/bytes.ts'
import { encodeKel, storedKel, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../../protocol/identity/kel-lazy.ts'
import { verifyOpenCard } from '../../../protocol/identity/open-card.ts'
import type { OpenPeerAgent } from '../../store/open-peer-port.ts'
import type { HubContext } from '../context.ts'
import { aidOf } from '../federation/card-check.ts'
import { Doubtful } from '../federation/doubtful.ts'
import type { PeerLogs } from '../federation/peer-logs.ts'
import type { Peer } from '../federation/peers.ts'
import type { ToldOpenCard } from './calls.ts'

export class OpenCardCheck {
  readonly #context: HubContext
  readonly #logs: PeerLogs

  constructor(context: HubContext, logs: PeerLogs) {
    this.#context = context
    this.#logs = logs
  }

  /** What counts of it; throws {@link Doubtful}, or a refusal where it cannot be judged now. */
  async judge({ card, kel, home }: ToldOpenCard, peer: Peer): Promise<OpenPeerAgent> {
    if (home !== peer.aid) throw new Doubtful('home of the agent')
    const aid = aidOf(kel)
    const log = await this.#logs.longest(aid, kel, peer, await this.#toldLog(aid))
    const isElsewhere = log.home !== undefined && log.home !== peer.aid
    if (isElsewhere || log.deactivated) throw new Doubtful('home of the agent')
    const { number, shown } = verified(card, log)
    return {
      ...{ aid, kel: encodeKel(log.events), card, seq: number },
      name: cut(shown.name, NAME_BYTES_MAX),
      summary: cut(shown.description.replace(/\s+/g, ' '), SUMMARY_BYTES_MAX),
      caps: shown.skills
        .map(({ id }) => id)
        .filter(id => capTag.safeParse(id).success)
        .slice(0, CAPS_MAX),
    }
  }

  /** What any peer showed before was verified then. */
  async #toldLog(aid: string): Promise<VerifiedKel | undefined> {
    const { store, peers } = this.#context
    const hubs = await store.hubsTelling(
      aid,
      peers.all.map(peer => peer.aid),
    )
    const told = await Promise.all(hubs.map(hub => store.openPeerAgent(aid, [hub])))
    const logs = told.flatMap(one => (one === undefined ? [] : [storedKel(decodeKelLazily(one.kel))]))
    return logs.reduce<VerifiedKel | undefined>(
      (longest, log) => (log.seq > (longest?.seq ?? -1) ? log : longest),
      undefined,
    )
  }
}

type Shown = { name: string; description: string; skills: { id: string }[] }

function verified(card: string, log: VerifiedKel): { number: number; shown: Shown } {
  try {
    const held = verifyOpenCard(card, log)
    // a card that verifies has these members
    if (held !== undefined) return { ...held, shown: JSON.parse(card) as Shown }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
  }
  throw new Doubtful('card of the agent')
}

/** At most so many bytes of UTF-8, and no half of a character. */
function cut(text: string, bytesMax: number): string {
  let kept = ''
  let bytes = 0
  for (const character of text) {
    bytes += utf8(character).length
    if (bytes > bytesMax) break
    kept += character
  }
  return kept
}
