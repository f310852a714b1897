/** The doctor on the hubs that this one lists: whether each answers, is who it was, has the time, and lists this hub. */
import { connectionFault, tlsFault } from '../../protocol/encoding/errors.ts'
import { type Finding, ok, wrong } from '../../protocol/encoding/finding.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import type { Peer } from '../core/federation/peers.ts'
import { CLOCK_WINDOW_MS } from '../core/limits.ts'
import { openPeers, PeersRefused } from '../peers/list.ts'
import {
  EXCHANGE_SWITCH,
  lookAtPeer,
  OWN_EXCHANGE,
  type PeerLook,
  takesMailAt,
} from '../peers/peer-status.ts'
import type { ClearingState } from '../store/clearing-port.ts'

const CHECK = 'peers'
const MS_PER_SECOND = 1000

/** What was cleared with each of these peers, wherever the rows lie. */
type ClearingOf = (peers: readonly string[]) => Promise<ClearingState[]>

/**
 * One finding a peer, and those of what both say that one owes the other; none where none is listed. `own`: addresses at which
 * this hub serves now.
 */
export async function checkPeers(
  directory: string,
  aid: string | undefined,
  { clearingOf, own }: { clearingOf: ClearingOf; own: readonly string[] },
): Promise<Finding[]> {
  try {
    const listed = openPeers(directory).peers.all
    const answers = await Promise.all(listed.flatMap(placesOf).map(peer => checkPeer(peer, aid)))
    return [...answers, ...(await checkExchange(listed, own)), ...(await checkClearing(listed, clearingOf))]
  } catch (error) {
    if (!(error instanceof PeersRefused)) throw error
    return [wrong(CHECK, error.found, error.next)]
  }
}

/** Whether this hub itself, as it runs, exchanges open mail with those that it lists for that. */
async function checkExchange(peers: readonly Peer[], own: readonly string[]): Promise<Finding[]> {
  const known = peers.filter(({ openUrl }) => openUrl !== undefined).length
  if (known === 0 || own.length === 0) return []
  const places = await Promise.all(own.map(url => takesMailAt(url, systemTimers)))
  if (places.includes(true)) return []
  const many = known === 1 ? 'a peer' : `${known} peers`
  const { lacks, start } = OWN_EXCHANGE[places.includes(false) ? 'off' : 'none']
  return [
    wrong(
      CHECK,
      `this hub lists ${many} for open mail, and ${lacks} itself`,
      `start it again with ${start}, or take the peers off: svc-hub peers rm <AID>`,
    ),
  ]
}

/** A peer under each of its addresses. */
const placesOf = (peer: Peer): Peer[] =>
  peer.openUrl === undefined || peer.isOpenOnly === true
    ? [peer]
    : [peer, { ...peer, url: peer.openUrl, isOpenOnly: true }]

/** What keeps payments from crossing, and what a peer published too little of. */
async function checkClearing(peers: readonly Peer[], clearingOf: ClearingOf): Promise<Finding[]> {
  if (peers.length === 0) return []
  try {
    const states = await clearingOf(peers.map(({ aid }) => aid))
    return states.flatMap((state, at) => clearingFindings(peers[at] as Peer, state))
  } catch {
    // what is wrong with the store is told of as such
    return []
  }
}

function clearingFindings({ aid, url }: Peer, { stoppedMs, due, owed, epoch }: ClearingState): Finding[] {
  const findings: Finding[] = []
  if (stoppedMs !== undefined)
    findings.push(
      wrong(
        CHECK,
        `no new payment crosses to ${url}: this hub owes it ${due} credits by its own books, and ${owed} by those of the peer (below 0: is owed)`,
        `compare both with its operator, then: svc-hub peers reopen ${aid}`,
      ),
    )
  if (epoch !== undefined && epoch.published < epoch.claim)
    findings.push(
      wrong(
        CHECK,
        `${url} published on day ${epoch.day} that it owes its peers ${epoch.published} credits in all, and it owes this hub ${epoch.claim}`,
        `ask its operator why; until that is clear: svc-hub peers limit ${aid} 0`,
      ),
    )
  return findings
}

async function checkPeer(peer: Peer, aid: string | undefined): Promise<Finding> {
  try {
    const look = await lookAtPeer(peer, aid ?? '', { now: systemNow, timers: systemTimers })
    return judged(peer, look, aid !== undefined)
  } catch (error) {
    const fault = tlsFault(error)
    if (fault !== undefined)
      return wrong(
        CHECK,
        `there is no secure connection to ${peer.url}: ${fault}`,
        'its operator mends the certificate, or the proxy in front',
      )
    return wrong(
      CHECK,
      `${peer.url} gives no usable answer: ${connectionFault(error)}`,
      'ask its operator whether it runs there; a new address is listed with: svc-hub peers add <url>',
    )
  }
}

/** The first thing that keeps the two hubs apart. */
function judged({ aid, url }: Peer, look: PeerLook, isAskerKnown: boolean): Finding {
  if (look.log === 'other')
    return wrong(CHECK, `at ${url} another hub answers than ${aid}`, 'ask its operator for the right address')
  if (look.log === 'contradicting')
    return wrong(
      CHECK,
      `${url} shows a key history that contradicts the one held`,
      `ask its operator why; until that is clear: svc-hub peers rm ${aid}`,
    )
  const offMs = look.clockAheadMs ?? 0
  if (Math.abs(offMs) > CLOCK_WINDOW_MS)
    return wrong(
      CHECK,
      `the clock of ${url} is ${Math.round(Math.abs(offMs) / MS_PER_SECOND)} s ${offMs > 0 ? 'ahead of' : 'behind'} this machine's, so signed calls are refused`,
      'compare both clocks with timedatectl, and set the wrong one',
    )
  if (look.takesMail === false)
    return wrong(
      CHECK,
      `${url} exchanges no open mail with other hubs`,
      `its operator starts it with: ${EXCHANGE_SWITCH}`,
    )
  if (isAskerKnown && look.isMutual === false)
    return wrong(
      CHECK,
      `${url} does not list this hub, so neither hands mail on to the other`,
      'its operator lists it with: svc-hub peers add <url of this hub>',
    )
  if (look.log === 'shorter')
    return wrong(
      CHECK,
      `${url} shows an older key history than the one held: it was restored from before a rotation`,
      'its operator puts identity.kel and identity.next of the time after the rotation into its data directory',
    )
  const followed = look.log === 'longer' ? ', has rotated its key, and is followed at its next call' : ''
  const listed = look.isMutual === true ? ', lists this hub' : ''
  return ok(CHECK, `${url} is ${aid}${listed}${followed}`)
}
