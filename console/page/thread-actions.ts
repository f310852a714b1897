/** What can be done with a task now: one list from which buttons and keys are made. */
import { present } from '../../protocol/encoding/present.ts'
import { peerName } from '../../view/sentences.ts'
import type { Thread } from '../../view/state.ts'
import type { App } from './app.ts'
import { verify } from './receipt.ts'

export type Doable = { name: string; label: string; key?: string; run: () => void; isMain?: boolean }

export function doable(app: App, thread: Thread): Doable[] {
  const { interaction_id: id, actions } = thread
  const input = { interaction_id: id }
  const peer = peerName(thread)
  const all: Doable[] = [
    { name: 'message', label: 'Reply', key: 'r', run: () => document.getElementById('composer')?.focus() },
    {
      name: 'accept_end',
      label: 'Agree to end',
      key: 'A',
      isMain: true,
      run: () => void app.act('end', { ...input, mode: 'accept' }, 'both sides have ended this task'),
    },
    {
      name: 'end',
      label: 'Propose to end',
      key: 'e',
      run: () =>
        app.ask({
          kind: 'sure',
          title: `End this task with ${peer}?`,
          says: `You propose to end it; once ${peer} agrees, nothing more can be written, and both sides sign the receipt.`,
          yes: 'Propose to end',
          run: () => app.live.act('end', input),
        }),
    },
    {
      name: 'decline',
      label: 'Decline',
      run: () =>
        app.ask({
          kind: 'sure',
          title: `Decline this task of ${peer}?`,
          says: `${peer} is told that you declined, with your reason if you give one.`,
          yes: 'Decline',
          reason: 'Reason, for the other side',
          run: reason => app.live.act('decline', { ...input, ...present({ reason: reason || undefined }) }),
        }),
    },
    {
      name: 'cancel',
      label: 'Withdraw',
      run: () =>
        app.ask({
          kind: 'sure',
          title: 'Withdraw this task?',
          says: `${peer} is told that you no longer want it. What was done so far is lost to you.`,
          yes: 'Withdraw',
          reason: 'Reason, for the other side',
          run: reason => app.live.act('cancel', { ...input, ...present({ reason: reason || undefined }) }),
        }),
    },
    {
      name: 'review',
      label: 'Rate',
      key: '*',
      isMain: true,
      run: () => app.ask({ kind: 'review', id, rating: 5, comment: '' }),
    },
  ]
  const now = all.filter(({ name }) => actions.includes(name) && !isDone(app, name, id))
  const check: Doable = { name: 'verify', label: 'Verify', key: 'v', run: () => void verify(app, id) }
  return thread.receipt === undefined ? now : [...now, check]
}

/** A rating is given once. */
const isDone = (app: App, name: string, id: string): boolean =>
  name === 'review' && app.view.interactions.get(id)?.rating !== undefined
