/** What can be done with a task now: one list from which buttons and keys are made. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isQuote, PAID_ANEW, peerName, sayTerms } from '../../view/sentences.ts'
import type { Thread } from '../../view/state.ts'
import type { App } from './app.ts'
import { verify } from './receipt.ts'
import { download, downloadAll } from './saving.ts'
import { archiveOne } from './selecting.ts'

/** Of a task's id, in the name of the archive of its files. */
const ARCHIVE_ID_CHARACTERS = 8

export type Doable = {
  name: string
  label: string
  key?: string
  run: () => void
  isMain?: boolean
  /** It has a button of its own elsewhere. */
  isElsewhere?: boolean
}

export function doable(app: App, thread: Thread): Doable[] {
  const { interaction_id: id, actions } = thread
  const input = { interaction_id: id }
  const peer = peerName(thread)
  const all: Doable[] = [
    { name: 'message', label: 'Reply', key: 'r', run: () => document.getElementById('composer')?.focus() },
    { name: 'approve', label: 'Take it', isElsewhere: true, run: () => app.ask({ kind: 'approve', id }) },
    {
      name: 'accept_end',
      label: 'Agree to end',
      key: 'A',
      isMain: true,
      run: () =>
        app.ask({
          kind: 'sure',
          title: `Agree to end this task with ${peer}?`,
          says: 'It ends for both: you sign the receipt, nothing more can be written, and this cannot be undone.',
          yes: 'Agree to end',
          done: 'both sides have ended this task',
          run: () => app.live.act('end', { ...input, mode: 'accept' }),
        }),
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
          says: `${peer} is told that you no longer want it. What was done so far is lost to you${withdrawalCosts(thread)}.`,
          yes: 'Withdraw',
          reason: 'Reason, for the other side',
          run: reason => app.live.act('cancel', { ...input, ...present({ reason: reason || undefined }) }),
        }),
    },
    secondReceipt(app, id, peer),
    {
      name: 'anew',
      label: 'Delegate anew',
      key: 'D',
      isMain: true,
      run: () =>
        app.ask({
          kind: 'sure',
          title: `Delegate this task to ${peer} once more?`,
          says: `${peer} was restored from a backup and lost it. The same words and files go out as a new task${thread.payment === undefined ? '' : `; ${PAID_ANEW}`}.`,
          yes: 'Delegate anew',
          done: 'delegated anew, under a new id',
          run: () => app.live.act('anew', input),
        }),
    },
    {
      name: 'review',
      label: 'Rate',
      key: '*',
      isMain: true,
      run: () => app.ask({ kind: 'review', id, comment: '' }),
    },
  ]
  const now = all.filter(({ name }) => actions.includes(name) && !isDone(app, name, thread))
  return [...now, ...always(app, thread)]
}

const secondReceipt = (app: App, id: string, peer: string): Doable => ({
  name: 'accept_receipt',
  label: 'Sign the second receipt',
  run: () =>
    app.ask({
      kind: 'sure',
      title: 'Sign the second receipt of this task?',
      says: `${peer} signed one receipt that is wrong, and later one that agrees with what this node holds. You sign the second; the first stays in your evidence.`,
      yes: 'Sign it',
      done: 'the second receipt is signed',
      run: () => app.live.act('acceptReceipt', { interaction_id: id }),
    }),
})

/** One file has a button of its own; several are saved as one archive. */
function saving(app: App, id: string, files: Thread['turns'][number]['attachments'], peer: string): Doable {
  const [only] = files.length === 1 ? files : []
  if (only !== undefined)
    return {
      name: 'save',
      label: 'Save the file',
      isElsewhere: true,
      run: () => void download(app, id, only),
    }
  const archive = fileName(`${peer} ${id.slice(0, ARCHIVE_ID_CHARACTERS)}.zip`)
  const run = () => void downloadAll(app, id, { files, archive })
  return { name: 'save', label: `Save ${files.length} files`, key: 'S', run }
}

/** What does not depend on the state of a task. */
function always(app: App, thread: Thread): Doable[] {
  const { interaction_id: id } = thread
  const files = thread.turns.flatMap(turn => turn.attachments).filter(file => file.path !== null)
  const attach = () => {
    const part = document.querySelector('.composer .attach')
    if (part instanceof HTMLDetailsElement) part.open = true
    document.getElementById('composer-files')?.focus()
  }
  return [
    ...(thread.receipt === undefined || isQuote(thread)
      ? []
      : [{ name: 'verify', label: 'Verify', key: 'v', run: () => void verify(app, id) }]),
    ...(files.length === 0 ? [] : [saving(app, id, files, peerName(thread))]),
    ...(app.view.interactions.get(id)?.delivery?.state === 'queued'
      ? [{ name: 'hold', label: 'Hold back', isElsewhere: true, run: () => hold(app, id) }]
      : []),
    ...(thread.actions.includes('message')
      ? [{ name: 'attach', label: 'Attach', isElsewhere: true, run: attach }]
      : []),
    ...archiving(app, thread),
  ]
}

/** What is over has the button beside its others; what goes on is archived by its key. */
function archiving(app: App, { interaction_id: id, actions, state }: Thread): Doable[] {
  const isArchived = app.view.interactions.get(id)?.archived === true
  if (actions.includes('approve')) return []
  const isOver = !['queued', 'delivered', 'pending', 'open', 'end_proposed'].includes(state)
  const label = isArchived ? 'Put back' : 'Archive'
  const isElsewhere = !isOver && !isArchived
  return [{ name: 'archive', label, key: 'z', isElsewhere, run: () => archiveOne(app, id) }]
}

/** A rating is given once, and to no price. */
const isDone = (app: App, name: string, thread: Thread): boolean =>
  name === 'review' &&
  (isQuote(thread) || app.view.interactions.get(thread.interaction_id)?.rating !== undefined)

/** Keeps what the task still has to send on this machine, or lets it leave. */
export function hold(app: App, id: string): void {
  const on = app.view.interactions.get(id)?.delivery?.held === true
  const says = on ? 'sent on' : 'held back; it stays queued on this machine'
  const back = on ? 'held back again' : 'sent on'
  void app.act('sending', { interaction_id: id, on }, says, () => {
    void app.act('sending', { interaction_id: id, on: !on }, back)
  })
}

/** Of what is held for it, where its provider takes some. */
function withdrawalCosts({ payment }: Thread): string {
  return payment === undefined || payment.state === 'open' ? '' : sayTerms(payment)
}
