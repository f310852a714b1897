/** What a restored node waits for and what it lost, as `status` tells it. */
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { lastRestore } from '../chain/restored.ts'
import type { Context } from '../context.ts'
import { uncertainInteractions } from '../store/interactions.ts'
import { lostTasks } from '../store/lost.ts'

type Needs = Pick<Context, 'store' | 'contacts'>

const NAMED_MAX = 3
const SHOWN_MAX = 100

export function restoredView({ store, contacts }: Needs): NodeStatus['restored'] {
  const restored = lastRestore(store)
  const waiting = uncertainInteractions(store).length
  const lost = lostTasks(store)
  if (restored === undefined && waiting === 0 && lost.length === 0) return undefined
  return {
    archive_at: restored === undefined || restored.madeAtMs === 0 ? null : restored.madeAtMs,
    waiting,
    lost: lost.slice(0, SHOWN_MAX).map(({ id, peer }) => ({
      interaction_id: id,
      peer,
      peer_name: contacts.petnameOf(peer),
    })),
  }
}

/** Sentences of what a restore leaves to be known. */
export function restoreWarnings({ store, contacts }: Needs): string[] {
  const named = (peers: readonly string[]) => listed(peers.map(peer => contacts.petnameOf(peer) ?? peer))
  const open = uncertainInteractions(store)
  const of = (numbering: string) => open.filter(one => one.numbering === numbering).map(({ peer }) => peer)
  const [asking, awaiting] = [of('asking'), of('awaiting')]
  const lost = lostTasks(store)
  const sentences: [readonly string[], string][] = [
    [
      asking,
      `this node goes on from an older state, and asked ${named(asking)} which of its messages they hold; until they answer, nothing new leaves in ${tasks(asking.length)} with them`,
    ],
    [
      awaiting,
      `this node goes on from an older state, and the release of ${named(awaiting)} cannot say which of its messages they hold; nothing new leaves in ${tasks(awaiting.length)} with them until they write there`,
    ],
    [
      lost.map(({ peer }) => peer),
      `${tasks(lost.length)} came after the backup and are lost here: ${listed(lost.map(({ id }) => id))} with ${named(lost.map(({ peer }) => peer))}; ask them to delegate anew`,
    ],
  ]
  return sentences.flatMap(([about, sentence]) => (about.length === 0 ? [] : [sentence]))
}

const tasks = (n: number): string => (n === 1 ? '1 task' : `${n} tasks`)

function listed(names: readonly string[]): string {
  const each = [...new Set(names)]
  const more = each.length > NAMED_MAX ? ` and ${each.length - NAMED_MAX} more` : ''
  return `${each.slice(0, NAMED_MAX).join(', ')}${more}`
}
