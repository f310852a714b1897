/** What proves a task: the receipt of both sides, what verifying it said, and the rating. */
import type { InteractionSummary } from '../../protocol/control/shapes.ts'
import { cleanLine } from '../../view/clean.ts'
import { isQuote, peerName, sayReceipt } from '../../view/sentences.ts'
import type { Thread, View } from '../../view/state.ts'
import { type App, faultOf } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button, card, facts, mark, sentence, toned } from './parts.ts'

export function receiptCard(app: App, thread: Thread, item: InteractionSummary): Drawn | undefined {
  const said = sayReceipt(thread, peerName(thread))
  // of a price that was asked nothing was done
  if (said === undefined || thread.receipt === undefined || isQuote(thread)) return undefined
  const verdict = app.view.verdicts.get(thread.interaction_id)
  return card(
    'Receipt',
    h('p', {}, mark(said.tone === 'good' ? '✓' : '!', said.tone), toned(said.tone, sentence(said.says))),
    signatures(thread, verdict),
    facts([
      ['Receipt', h('code', {}, cleanLine(thread.receipt.id))],
      ['Result', h('code', {}, cleanLine(thread.receipt.result_cid))],
      ...ratingOf(item),
    ]),
    onPaper(app, thread, item),
    verdict !== undefined &&
      h(
        'p',
        { class: 'verdict' },
        toned(verdict.verdict === 'invalid' ? 'bad' : 'good', sentence(cleanLine(verdict.says))),
      ),
    h(
      'div',
      { class: 'bar' },
      verdict === undefined &&
        button('Verify', () => void verify(app, thread.interaction_id), {
          title: 'Verify (v)',
          key: 'verify',
        }),
      button('Print', () => print(), { key: 'print' }),
    ),
  )
}

/** What whoever holds the paper needs beside it: whole addresses, the task and its times. */
function onPaper(app: App, { interaction_id: id, peer, side }: Thread, item: InteractionSummary): Drawn {
  const own = app.view.status?.aid ?? ''
  const [provider, requester] = side === 'sent' ? [peer, own] : [own, peer]
  const time = (at: number) => new Date(at).toISOString().replace('T', ' ').slice(0, 16)
  return h(
    'div',
    { class: 'print-only', key: 'paper' },
    facts([
      ['Task', h('code', {}, cleanLine(id))],
      ['Did the work', h('code', {}, cleanLine(provider))],
      ['Asked for it', h('code', {}, cleanLine(requester))],
      ['From, to (UTC)', `${time(item.created_at)}, ${time(item.last_at)}`],
      ['Check it with', h('code', {}, `svc verify ${cleanLine(id)} --offline`)],
    ]),
  )
}

export async function verify(app: App, id: string): Promise<void> {
  try {
    const { verdict } = await app.live.act('verify', { interaction_id: id })
    app.say(`the receipt is ${verdict.replaceAll('_', ' ')}`)
  } catch (error) {
    app.say(faultOf(error), 'bad')
  }
}

/** Both sides as two linked signatures: who signed, as far as it was seen to hold. */
function signatures(thread: Thread, verdict: Verdict): Drawn {
  const peer = peerName(thread)
  const [provider, requester] = thread.side === 'sent' ? [peer, 'you'] : ['you', peer]
  const holds = thread.receipt?.verified === true
  const side = (role: string, who: string, signed: boolean) =>
    h(
      'div',
      { class: `signature ${signed ? 'good' : 'wait'}`, key: role },
      h('span', { class: 'role' }, role),
      h('bdi', {}, who),
      h('span', {}, signed ? 'signed' : 'not seen yet'),
    )
  const by = (role: 'provider' | 'requester') => verdict?.signed_by.includes(role) ?? holds
  return h(
    'div',
    { class: 'signatures' },
    side('did the work', provider, by('provider')),
    h('span', { class: `joint ${holds ? 'good' : 'wait'}`, 'aria-hidden': 'true' }),
    side('asked for it', requester, by('requester')),
  )
}

type Verdict = View['verdicts'] extends ReadonlyMap<string, infer V> ? V | undefined : never

function ratingOf({ rating, review }: InteractionSummary): (readonly [string, string])[] {
  if (rating === undefined) return []
  const why = review?.reason === undefined ? '' : `: ${cleanLine(review.reason)}`
  const where = review?.uploaded === false ? `, not at the hub yet${why}` : ''
  return [['Your rating', `${rating} of 5${where}`]]
}
