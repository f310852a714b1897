/**
 * What somebody shows together: key histories that may contradict each other, and words of hubs on the time of a
 * receipt. Whoever shows them chooses what there is and in which order; neither makes one thing count for another.
 */
import { equal } from '../encoding/bytes.ts'
import type { VerifiedKel } from '../identity/kel.ts'
import { attestedTime, type Given, type Judgement, judgeReceipt } from './judge.ts'
import { type Attestation, type Receipt, receiptDigest } from './receipt.ts'

/** `forks`: agents with two histories of which both cannot be true, and the event at which they part; they have no log. */
export type Histories = { logs: Map<string, VerifiedKel>; forks: Map<string, number> }

/** The longest history of each agent, and who has two that contradict each other. */
export function gatherHistories(shown: Iterable<VerifiedKel>): Histories {
  const [logs, forks] = [new Map<string, VerifiedKel>(), new Map<string, number>()]
  for (const log of shown) {
    const known = logs.get(log.aid)
    const seq = known === undefined ? undefined : forkOf(known, log)
    if (seq !== undefined) forks.set(log.aid, seq)
    if (known === undefined || known.seq < log.seq) logs.set(log.aid, log)
  }
  for (const aid of forks.keys()) logs.delete(aid)
  return { logs, forks }
}

function forkOf(one: VerifiedKel, other: VerifiedKel): number | undefined {
  const common = Math.min(one.events.length, other.events.length)
  for (let seq = 0; seq < common; seq++) {
    const [a, b] = [one.events[seq], other.events[seq]]
    if (a !== undefined && b !== undefined && !equal(a.bodyBytes, b.bodyBytes)) return seq
  }
  return undefined
}

/** One sentence for people; `seq` is the event from which on the two histories differ (objects §4). */
export const sayFork = (seq: number): string =>
  `Two key histories of this agent were given that differ from event ${seq} on. Both are signed, so its key was used twice: nothing that it signed is checked by either.`

/** What was shown beside a receipt: words of hubs on its time, and verified logs by their AID. */
export type Shown = {
  attestations: readonly Attestation[]
  logs: ReadonlyMap<string, VerifiedKel>
  /** AIDs of the hubs whose word counts. */
  named: ReadonlySet<string>
}

/**
 * The best that any of the words makes of a receipt: of a hub that was named before that of another, the earlier before
 * the later. `hub`: whose word on the time of a rotation counts also where it says nothing of the receipt.
 */
export function judgeShown(
  receipt: Receipt,
  provider: VerifiedKel,
  { attestations, logs, named }: Shown,
  given: Given = {},
): Judgement {
  const digest = receiptDigest(receipt.bodyBytes)
  const words = attestations
    .filter(({ body }) => equal(body.receiptDigest, digest))
    .toSorted((a, b) => a.body.hubTs - b.body.hubTs)
  const judged = [true, false].flatMap(isNamed => {
    const said = firstThatHolds(
      words.filter(({ body }) => named.has(body.hub) === isNamed),
      receipt,
      logs,
    )
    if (said === undefined) return []
    const { evidence, hub } = said
    // an unnamed hub's word on the time of a rotation counts no more than its word on the receipt
    const options = isNamed ? { evidence, hub } : { evidence: { ...evidence, unnamed: hub.aid } }
    return [judgeReceipt(receipt, provider, { ...given, ...options })]
  })
  return (
    judged.find(({ verdict }) => verdict !== 'invalid') ?? judged[0] ?? judgeReceipt(receipt, provider, given)
  )
}

function firstThatHolds(
  words: readonly Attestation[],
  receipt: Receipt,
  logs: ReadonlyMap<string, VerifiedKel>,
) {
  for (const word of words) {
    const hub = logs.get(word.body.hub)
    const evidence = hub && attestedTime(word, receipt, hub)
    if (hub !== undefined && evidence !== undefined) return { evidence, hub }
  }
  return undefined
}
