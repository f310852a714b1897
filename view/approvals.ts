/** What a person is asked before a yes: a stranger's task, or a payment with payee, amount, hub, purpose and what is left of the day. */

import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { fileName } from '../protocol/encoding/file-names.ts'
import { present } from '../protocol/encoding/present.ts'
import { size } from './ages.ts'
import { cleanLine } from './clean.ts'
import { peerName, sayCredits, shortAid } from './sentences.ts'
import type { View } from './state.ts'

export type Approval = {
  kind: 'task' | 'payment'
  interactionId: string
  /** What the yes says to the node. */
  order: { interaction_id: string; unheld?: true; again?: true }
  /** The question of one line. */
  asks: string
  /** What the answer means, line by line, as name and value. */
  facts: readonly (readonly [name: string, value: string])[]
}

/** What of an interaction waits for a yes, if anything does. */
export function approvalOf(view: View, item: InteractionSummary): Approval | undefined {
  if (item.side === 'received' && item.state === 'pending') return taskApproval(view, item)
  if (item.side === 'sent' && item.payment?.state === 'open') return paymentApproval(view, item)
  return undefined
}

function taskApproval(view: View, item: InteractionSummary): Approval {
  return {
    kind: 'task',
    interactionId: item.interaction_id,
    order: { interaction_id: item.interaction_id },
    asks: `Take this task of a stranger, ${shortAid(item.peer)}?`,
    facts: [
      ['from', cleanLine(item.peer)],
      ['hub', ownHub(view)],
      ['task', cleanLine(item.preview, 160)],
      ['files', filesOf(view, item)],
      [
        'then',
        'they may write to you in this task, and your auto-reply may answer where it answers strangers',
      ],
    ],
  }
}

/** The hub over which it came, and whether its operator could read it. */
function ownHub({ status }: View): string {
  if (status?.hub_url == null) return 'none now'
  return `${cleanLine(status.hub_url, 120)}${status.hub?.sealed === false ? ', which can read it: mail there is NOT sealed' : ''}`
}

const FILES_NAMED_MAX = 6

/** What came with a task, by name and size as soon as its conversation is here. */
function filesOf(view: View, item: InteractionSummary): string {
  if (item.attachments === 0) return 'none'
  const turns = view.threads.get(item.interaction_id)?.thread?.turns ?? []
  const files = turns.flatMap(turn => (turn.mine ? [] : turn.attachments))
  const many = item.attachments === 1 ? '1 file' : `${item.attachments} files`
  if (files.length === 0) return many
  const named = files.slice(0, FILES_NAMED_MAX).map(file => `“${fileName(file.name)}” (${size(file.bytes)})`)
  const more = files.length > named.length ? `, and ${files.length - named.length} more` : ''
  return `${many}: ${named.join(', ')}${more}`
}

function paymentApproval(view: View, item: InteractionSummary): Approval {
  const { amount = 0, network = '', reason, unheld, says, lost_payments: lost } = item.payment ?? {}
  const again = lost === undefined ? undefined : (true as const)
  const peer = peerName(item)
  return {
    kind: 'payment',
    interactionId: item.interaction_id,
    order: { interaction_id: item.interaction_id, ...present({ unheld, again }) },
    asks: `Pay ${sayCredits(amount)} to ${peer}${unheld === true ? ' at once, without a hold' : ''}${again ? ', maybe once more' : ''}?`,
    facts: [
      ['payee', `${peer} ${cleanLine(item.peer)}`],
      ['amount', sayCredits(amount)],
      ['hub', hubOf(view, network)],
      ['for', purposeOf(view, item)],
      ...(says === undefined ? [] : [['their words', `“${cleanLine(says, 160)}”`] as const]),
      ['risk', riskOf(item.payment)],
      ...(reason === undefined ? [] : [['why you', cleanLine(reason)] as const]),
      ...leftOf(view, amount),
    ],
  }
}

/** What is lost where nothing good comes of it. */
function riskOf(payment: InteractionSummary['payment']): string {
  if (payment?.unheld === true) return 'nothing of it comes back, whatever the answer is'
  const { amount = 0, starts = amount } = payment ?? {}
  const cost = starts === 0 ? 'nothing' : starts >= amount ? 'all of it' : sayCredits(starts)
  return `held until the answer, which they value; to withdraw costs ${cost} once the work has begun`
}

/** The own words of the task, never those of who wants to be paid. */
function purposeOf(view: View, item: InteractionSummary): string {
  if (item.capability !== undefined) return cleanLine(item.capability)
  const turns = view.threads.get(item.interaction_id)?.thread?.turns
  const own = turns?.find(turn => turn.mine)?.text ?? (item.preview_mine === true ? item.preview : undefined)
  return own === undefined ? 'your task; its words are being loaded' : cleanLine(own, 160)
}

/** Ours by its address; another one by the name that the payment gives it. */
function hubOf({ status }: View, network: string): string {
  const own = status?.hub?.aid
  return own && network === `hub:${own}` ? (status?.hub_url ?? network) : cleanLine(network)
}

function leftOf({ balance, spend }: View, amount: number): (readonly [string, string])[] {
  const left: (readonly [string, string])[] = []
  if (balance !== undefined) {
    const rest = balance.balance - amount
    left.push([
      'balance',
      rest < 0 ? `${balance.balance}; not enough` : `${balance.balance}, ${rest} after it`,
    ])
  }
  if (spend !== undefined) {
    const today = `${sayCredits(spend.spent_today)} went today without asking you`
    const rules =
      spend.day_max === 0
        ? 'nothing may go without asking you'
        : `${Math.max(0, spend.day_max - spend.spent_today)} of ${spend.day_max} remain`
    left.push(['today', spend.day_max === 0 ? rules : `${today}, ${rules}`])
  }
  return left
}
