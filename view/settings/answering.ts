/** Settings of the auto-reply: who answers tasks for this person, with which limits. */
import { ANSWERS_MAX, RUN_SECONDS_MAX, TURNS_SEEN_MAX } from '../../protocol/control/bounds.ts'
import type { OperationInput, OperationReply } from '../../protocol/control/operations.ts'
import { present } from '../../protocol/encoding/present.ts'
import { cleanLine } from '../clean.ts'
import type { View } from '../state.ts'
import { type Choice, type Field, isOn, onOff, trimmed, type Undo, type Values, wholeOf } from './field.ts'
import { order, type Setting, setting } from './setting.ts'

type Kept = NonNullable<NonNullable<View['autoReply']>['auto_reply']>
type Told = OperationReply<'autoReplyTest'>

/** As the node has it unless something is set. */
const DEFAULTS = { max_auto_replies: 30, api_timeout_seconds: 180, max_history: 20 } as const

const kept = ({ autoReply }: View): Partial<Kept> | undefined => autoReply && (autoReply.auto_reply ?? {})
const textOf = (member: 'command' | 'model' | 'api_base' | 'work_dir') => (view: View) => {
  const held = kept(view)
  return held && (held[member] ?? '')
}
const numberOf = (member: keyof typeof DEFAULTS) => (view: View) => {
  const held = kept(view)
  return held && String(held[member] ?? DEFAULTS[member])
}
const switchOf = (member: 'strangers' | 'guests' | 'send_files') => (view: View) => {
  const held = kept(view)
  return held && onOff(held[member] === true)
}

/** Coding agents, those that the node finds first. */
function agentsFound({ answerers }: View): Choice[] {
  const agents = answerers?.agents ?? []
  return [...agents]
    .sort((a, b) => Number(b.found) - Number(a.found))
    .map(({ agent, found }) => ({
      value: agent,
      says: found ? agent : `${agent} (not found on this machine)`,
    }))
}

function whoAnswers(view: View): string | undefined {
  const held = kept(view)
  if (held === undefined) return undefined
  if (held.command !== undefined) return 'command'
  return held.backend === 'openai' ? 'server' : 'agent'
}

const is =
  (...who: string[]) =>
  (values: Values) =>
    who.includes(values['who'] ?? '')

const fields: readonly Field[] = [
  {
    name: 'who',
    label: 'What answers',
    help: 'A coding agent of this machine, a program of yours, or a server of models.',
    kind: 'choice',
    now: whoAnswers,
    choices: () => [
      { value: 'agent', says: 'a coding agent' },
      { value: 'command', says: 'a program of yours' },
      { value: 'server', says: 'a server of models' },
    ],
    isNeeded: true,
  },
  {
    name: 'agent',
    label: 'Coding agent',
    help: 'It runs with your login, without tools, and its version is attacked before its first answer.',
    kind: 'choice',
    now: view => kept(view)?.agent ?? (view.answerers && (agentsFound(view)[0]?.value ?? '')),
    choices: agentsFound,
    when: is('agent'),
    isNeeded: true,
  },
  {
    name: 'command',
    label: 'Command',
    help: 'A program and its arguments; it gets the conversation on standard input and prints the answer.',
    kind: 'text',
    example: '/home/you/bin/answer',
    now: textOf('command'),
    when: is('command'),
    isNeeded: true,
  },
  {
    name: 'api_base',
    label: 'Address of the server',
    help: 'It speaks the chat interface of OpenAI.',
    kind: 'text',
    example: 'http://127.0.0.1:11434/v1',
    now: textOf('api_base'),
    when: is('server'),
    isNeeded: true,
  },
  {
    name: 'api_key',
    label: 'Key of the server',
    help: 'Empty keeps the key that the node has; the node shows it to nobody.',
    kind: 'secret',
    now: () => '',
    when: is('server'),
  },
  {
    name: 'model',
    label: 'Model',
    help: 'Empty leaves the choice to the agent; a server of models needs one.',
    kind: 'text',
    now: textOf('model'),
    when: is('agent', 'server'),
  },
  {
    name: 'tools',
    label: 'Tools of the agent',
    help: 'Anything but none lets words of others act on this machine.',
    kind: 'choice',
    now: view => kept(view) && (kept(view)?.tools ?? 'none'),
    choices: () => [
      { value: 'none', says: 'none: it only writes an answer' },
      { value: 'read', says: 'read: it may read files' },
      { value: 'write', says: 'write: it may change files' },
    ],
    when: is('agent'),
  },
  {
    name: 'work_dir',
    label: 'Folder it works in',
    help: 'Empty gives each run an empty folder of its own.',
    kind: 'text',
    now: textOf('work_dir'),
    when: is('agent', 'command'),
  },
  {
    name: 'strangers',
    label: 'Also answer strangers',
    help: 'Strangers whose task you approved get answers too, not contacts alone.',
    kind: 'switch',
    now: switchOf('strangers'),
  },
  {
    name: 'guests',
    label: 'Also answer visitors',
    help: 'Visitors of a hub that reads its mail get answers, and you approve none of them.',
    kind: 'switch',
    now: switchOf('guests'),
  },
  {
    name: 'send_files',
    label: 'Also send files',
    help: 'Files that a run leaves in its folder “out” go along with the answer.',
    kind: 'switch',
    now: switchOf('send_files'),
    when: is('agent', 'command'),
  },
  {
    name: 'max_auto_replies',
    label: 'Answers in one task',
    help: 'After so many the node proposes to end the task.',
    kind: 'number',
    least: 1,
    most: ANSWERS_MAX,
    unit: 'answers',
    now: numberOf('max_auto_replies'),
    isNeeded: true,
  },
  {
    name: 'api_timeout_seconds',
    label: 'Time for one answer',
    help: 'A run that takes longer is stopped.',
    kind: 'number',
    least: 1,
    most: RUN_SECONDS_MAX,
    unit: 'seconds',
    now: numberOf('api_timeout_seconds'),
    isNeeded: true,
  },
  {
    name: 'max_history',
    label: 'Turns it sees',
    help: 'So many of the last messages of the task are shown to it.',
    kind: 'number',
    least: 1,
    most: TURNS_SEEN_MAX,
    unit: 'turns',
    now: numberOf('max_history'),
    isNeeded: true,
  },
]

type Change = OperationInput<'autoReplySet'>

/** What names the backend, and what belongs to it alone. */
function backendOf(values: Values): Change {
  const [model, work_dir] = [trimmed(values, 'model'), trimmed(values, 'work_dir')]
  switch (values['who']) {
    case 'command':
      return { command: trimmed(values, 'command'), work_dir, send_files: isOn(values['send_files']) }
    case 'server':
      return {
        api_base: trimmed(values, 'api_base'),
        model,
        ...present({ api_key: values['api_key'] || undefined }),
      }
    default:
      return {
        agent: trimmed(values, 'agent'),
        model,
        work_dir,
        tools: trimmed(values, 'tools') as 'none' | 'read' | 'write',
        send_files: isOn(values['send_files']),
      }
  }
}

const changeOf = (values: Values): Change => ({
  ...backendOf(values),
  strangers: isOn(values['strangers']),
  guests: isOn(values['guests']),
  max_auto_replies: wholeOf(values, 'max_auto_replies'),
  api_timeout_seconds: wholeOf(values, 'api_timeout_seconds'),
  max_history: wholeOf(values, 'max_history'),
})

const sayAnswer = ({ answer, ms }: Told): string =>
  `it answered in ${(ms / 1000).toFixed(1)} s: ${cleanLine(answer, 160)}`

/** What sets the auto-reply as it stands; nothing where it holds a key, which no screen has. */
export function asItWas({ autoReply }: View): Undo | undefined {
  const { api_key_set: hasKey, ...settings } = autoReply?.auto_reply ?? {}
  if (autoReply?.enabled !== true || hasKey === true) return undefined
  return { order: order('autoReplySet', settings), says: 'the auto-reply is on again' }
}

const isOff = ({ autoReply }: View): string | undefined =>
  autoReply?.enabled === true ? undefined : 'the auto-reply is off'

export const answering: readonly Setting[] = [
  setting({
    id: 'auto_reply',
    group: 'answering',
    heading: 'Auto-reply',
    help: 'A program answers tasks for you while you are away.',
    fields,
    calls: 'autoReplySet',
    input: changeOf,
    shows: ({ autoReply }) =>
      autoReply &&
      (autoReply.enabled ? cleanLine(autoReply.says ?? 'on', 400) : 'off: you answer tasks yourself'),
    opens: ({ autoReply }) => (autoReply?.enabled === true ? 'Change' : 'Turn it on'),
    yes: 'Keep and turn on',
    waits: 'trying what answers; this can take half a minute',
    fault: values =>
      values['who'] === 'server' && trimmed(values, 'model') === ''
        ? { field: 'model', says: 'this is needed' }
        : undefined,
    asks: values =>
      values['tools'] === 'read' || values['tools'] === 'write'
        ? {
            asks: `Let the agent use tools (${values['tools']})?`,
            facts: [
              ['risk', 'words of others reach an agent that can act on this machine'],
              ['record', 'your evidence chain keeps that you allowed it'],
            ],
          }
        : undefined,
    says: ({ says = 'the auto-reply is on' }) => cleanLine(says, 400),
    undo: (_, view) =>
      view.autoReply?.enabled === true
        ? asItWas(view)
        : { order: order('autoReplyOff', {}), says: 'the auto-reply is off again' },
    tries: {
      yes: 'Try it',
      order: values => order('autoReplyTest', { settings: changeOf(values) }),
      says: reply => sayAnswer(reply as Told),
    },
  }),
  setting({
    id: 'auto_reply_off',
    group: 'answering',
    heading: 'Turn the auto-reply off',
    help: 'Tasks wait for you from then on.',
    fields: [],
    calls: 'autoReplyOff',
    input: () => ({}),
    yes: 'Turn it off',
    unless: isOff,
    asks: (_, view) => ({
      asks: 'Turn the auto-reply off?',
      facts: [
        ['then', 'nobody answers but you'],
        ...(asItWas(view) === undefined
          ? ([['settings', 'they go, and so does the key of the server; you set them anew']] as const)
          : []),
      ],
    }),
    says: () => 'the auto-reply is off',
    undo: (_, view) => asItWas(view),
  }),
  setting({
    id: 'auto_reply_try',
    group: 'answering',
    heading: 'Try the auto-reply',
    help: 'It is asked once; nothing is sent and nothing is kept.',
    fields: [
      {
        name: 'question',
        label: 'Question',
        help: 'Empty asks whether it is ready.',
        kind: 'text',
        now: () => '',
      },
    ],
    calls: 'autoReplyTest',
    input: values => present({ question: trimmed(values, 'question') || undefined }),
    opens: () => 'Try it',
    yes: 'Ask',
    unless: isOff,
    waits: 'asking what answers; this can take a while',
    says: sayAnswer,
  }),
]
