/** What keys do to the selected task, on the two lists and in a conversation. Whatever can't be undone is asked again. */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { allows, sayNot } from '../view/allowed.ts'
import { approvalOf } from '../view/approvals.ts'
import { cleanLine } from '../view/clean.ts'
import type { Action } from '../view/keys.ts'
import { PAID_ANEW, peerName, sayPayment } from '../view/sentences.ts'
import { bufferOf, emptyBuffer } from './edit.ts'
import { act, type Confirm, type Effect, type Model, type Prompt, type Target } from './model.ts'
import { paneOf, type Scene, type Step, stay, toast } from './scene.ts'

/** The task that keys are about: that of the open conversation, else the selected one. */
export function taskOf({ model, view }: Pick<Scene, 'model' | 'view'>): InteractionSummary | undefined {
  const id = model.thread?.id ?? (isTaskScreen(model) ? paneOf(model).selected : undefined)
  return id === undefined ? undefined : view.interactions.get(id)
}

const isTaskScreen = ({ screen }: Model): boolean => screen === 'inbox' || screen === 'sent'

export function onTasks(scene: Scene, action: Action): Step | undefined {
  const { model } = scene
  if (action === 'pending_only')
    return stay({ ...model, pendingOnly: !model.pendingOnly }, { type: 'narrow' })
  if (!isTaskScreen(model) && model.thread === undefined) return undefined
  const work = ACTIONS[action]
  if (work === undefined) return undefined
  const task = taskOf(scene)
  if (task === undefined) return stay(toast(model, 'no task is selected'))
  if (allows(scene.view, task, action)) return work(scene, task)
  const says = sayNot(task, action)
  return stay(WRITES.includes(action) ? { ...model, refused: says } : toast(model, says))
}

/** Keys behind which people go on typing: where one is refused, what is typed then must be no keys. */
const WRITES: readonly Action[] = ['reply', 'editor', 'attach', 'decline', 'rate', 'save']

/** A question with what is known by now of what it means. */
export function confirmNow({ view }: Pick<Scene, 'view'>, confirm: Confirm): Confirm {
  const item = confirm.about === undefined ? undefined : view.interactions.get(confirm.about)
  const approval = item && approvalOf(view, item)
  if (isAnswered({ view }, confirm)) return { ...confirm, facts: [['now', 'it was answered meanwhile']] }
  return approval === undefined ? confirm : { ...confirm, facts: approval.facts }
}

/** What was asked here has its answer from another screen. */
export function isAnswered({ view }: Pick<Scene, 'view'>, { about }: Confirm): boolean {
  const item = about === undefined ? undefined : view.interactions.get(about)
  return item !== undefined && approvalOf(view, item) === undefined
}

/** A folder of its own: a file named as a program reads it would otherwise come to lie beside one's work. */
const folderFor = ({ interaction_id: id }: InteractionSummary): string =>
  `./files-of-${cleanLine(id).slice(-8)}`

type Work = (scene: Scene, task: InteractionSummary) => Step

const ask = (model: Model, confirm: Confirm): Step => stay({ ...model, confirm })
const prompt = (model: Model, given: Prompt): Step => stay({ ...model, prompt: given })

export function write(model: Model, target: Target): Step {
  return stay(
    { ...model, composer: { target, buffer: emptyBuffer, files: [], isSending: false } },
    { type: 'load_draft', target },
  )
}

const reply: Work = ({ model }, task) => {
  const opened = { ...model, thread: model.thread ?? { id: task.interaction_id, up: 0 } }
  const step = write(opened, { kind: 'reply', id: task.interaction_id })
  const effects: Effect[] =
    model.thread === undefined ? [{ type: 'open_thread', id: task.interaction_id, read: true }] : []
  return { model: step.model, effects: [...effects, ...step.effects] }
}

const approve: Work = ({ model, view }, task) => {
  const approval = approvalOf(view, task)
  if (approval === undefined) return stay(toast(model, 'nothing here waits for a yes'))
  const says = approval.kind === 'task' ? 'taken' : 'paid; the task goes on under a new id'
  const yes = act('approve', approval.order, says)
  const id = task.interaction_id
  const step = ask(model, { asks: approval.asks, facts: approval.facts, yes, about: id })
  const look: Effect = { type: 'open_thread', id, read: false }
  return { ...step, effects: approval.kind === 'payment' ? [{ type: 'account' }, look] : [look] }
}

const end: Work = ({ model }, task) => {
  const peer = peerName(task)
  const yes = act('end', { interaction_id: task.interaction_id, mode: 'either' }, 'asked to end')
  return ask(model, {
    asks: `End this task with ${peer}?`,
    facts: [['then', 'when both sides have ended it, the receipt is signed; it cannot be reopened']],
    yes,
  })
}

const acceptEnd: Work = ({ model }, task) =>
  ask(model, {
    asks: `Agree with ${peerName(task)} that this task is over?`,
    facts: [['then', 'the receipt is signed by both sides']],
    yes: act('end', { interaction_id: task.interaction_id, mode: 'accept' }, 'agreed to end'),
  })

const withdraw: Work = ({ model }, task) =>
  ask(model, {
    asks: `Withdraw this task from ${peerName(task)}?`,
    facts: [
      ['then', 'they are told; what they have read stays read'],
      ...(task.payment?.starts ? [['price', sayPayment(task.payment, peerName(task)).says] as const] : []),
    ],
    yes: act('cancel', { interaction_id: task.interaction_id }, 'withdrawn'),
  })

/** Words go to the other side only where somebody wrote them into the line for a reason. */
function declineOf(task: InteractionSummary, reason: string): Confirm {
  const { interaction_id: id } = task
  return {
    asks: `Decline this task of ${peerName(task)}?`,
    facts: [
      ['task', cleanLine(task.preview, 160)],
      ['why', reason === '' ? 'nothing is told' : `“${cleanLine(reason, 1_000)}”`],
      ['then', 'they are told that it is declined; it cannot be taken up again'],
    ],
    yes: act('decline', { interaction_id: id, reason }, 'declined'),
    because: given => declineOf(task, given),
  }
}

const anew: Work = ({ model }, task) =>
  ask(model, {
    asks: `Delegate this task to ${peerName(task)} once more?`,
    facts: [
      ['then', 'the same words and files go out as a new task; this one stays as it is'],
      ...(task.payment === undefined ? [] : [['price', PAID_ANEW] as const]),
    ],
    yes: act('anew', { interaction_id: task.interaction_id }, 'delegated anew, under a new id'),
  })

/** Nothing is lost either way, so that it asks for nothing; what is on its way to the hub stops, too. */
const hold: Work = ({ model }, { interaction_id: id, delivery }) => {
  const sending = (on: boolean) =>
    act('sending', { interaction_id: id, on }, on ? 'sent on' : 'held back; it stays queued on this machine')
  const isHeld = delivery?.held === true
  const undo = { says: isHeld ? 'hold it back' : 'send it on', effect: sending(!isHeld) }
  return stay(model, { ...sending(isHeld), undo })
}

const verify: Work = ({ model }, task) =>
  stay(model, act('verify', { interaction_id: task.interaction_id }, ''))

const ACTIONS: Partial<Record<Action, Work>> = {
  open: ({ model }, task) =>
    model.thread !== undefined
      ? stay(model)
      : stay(
          { ...model, thread: { id: task.interaction_id, up: 0, unread: task.unread } },
          { type: 'open_thread', id: task.interaction_id, read: true },
        ),
  reply,
  attach(scene, task) {
    const step = reply(scene, task)
    return { ...step, model: { ...step.model, prompt: { kind: 'attach', buffer: emptyBuffer } } }
  },
  editor(scene, task) {
    const step = reply(scene, task)
    const composer = step.model.composer
    return composer === undefined
      ? step
      : { ...step, effects: [...step.effects, { type: 'editor', composer }] }
  },
  approve,
  end,
  accept_end: acceptEnd,
  cancel: withdraw,
  anew,
  hold,
  verify,
  decline: ({ model }, task) => ask(model, declineOf(task, '')),
  rate: ({ model }, task) => prompt(model, { kind: 'rate', buffer: emptyBuffer, about: task.interaction_id }),
  save: ({ model }, task) =>
    prompt(model, { kind: 'save', buffer: bufferOf(folderFor(task)), about: task.interaction_id }),
  copy: ({ model }, task) =>
    stay(toast(model, `copied ${task.interaction_id}`), { type: 'copy', text: task.interaction_id }),
  delegate: ({ model }, task) => write(model, { kind: 'delegate', to: task.peer, name: peerName(task) }),
}
