/** What others find of this node: its name, what it says of itself, and how far that is seen. */
import {
  CAPS_MAX,
  NAME_BYTES_MAX,
  README_BYTES_MAX,
  SUMMARY_BYTES_MAX,
} from '../../protocol/contract/limits.ts'
import type { OperationInput } from '../../protocol/control/operations.ts'
import { cleanLine } from '../clean.ts'
import { type FieldFault, trimmed, type Values, wordsIn } from './field.ts'
import { order, type Setting, setting } from './setting.ts'

type Visibility = OperationInput<'visibility'>['visibility']

const CAPABILITY = /^[\x21-\x2b\x2d-\x7e]{1,64}$/

/** What is wrong with capabilities that were written one behind the other. */
function capsFault(values: Values): FieldFault | undefined {
  const caps = wordsIn(values['caps'] ?? '')
  if (caps.length > CAPS_MAX)
    return { field: 'caps', says: `${caps.length} are too many; at most ${CAPS_MAX}` }
  const wrong = caps.find(cap => !CAPABILITY.test(cap))
  return wrong === undefined
    ? undefined
    : { field: 'caps', says: 'each is 1 to 64 characters of ASCII, without spaces and commas' }
}

const SEEN: Readonly<Record<Visibility, string>> = {
  'hub-local': 'agents of your hub',
  federated: 'agents of other hubs too',
  public: 'everybody, also without an agent',
}

export const profile: readonly Setting[] = [
  setting({
    id: 'name',
    group: 'profile',
    heading: 'Name',
    help: 'The name under which your hub lists you; it is your own claim, and others may have the same.',
    fields: [
      {
        name: 'name',
        label: 'Name',
        help: 'One line.',
        kind: 'text',
        bound: { most: NAME_BYTES_MAX, unit: 'bytes' },
        now: ({ status }) => status?.name,
        isNeeded: true,
      },
    ],
    calls: 'hubRegister',
    input: (values, { status }) => ({ url: status?.hub_url ?? '', name: trimmed(values, 'name') }),
    shows: ({ status }) => status && (cleanLine(status.name, 64) || 'none'),
    opens: () => 'Change',
    yes: 'Keep this name',
    unless: ({ status }) => (status?.hub == null ? 'a name is given when you join a hub' : undefined),
    says: (_, values) => `you are listed as ${trimmed(values, 'name')}`,
    undo: (_, { status }) =>
      status?.hub_url == null || status.name === ''
        ? undefined
        : {
            order: order('hubRegister', { url: status.hub_url, name: status.name }),
            says: `you are listed as ${status.name} again`,
          },
  }),
  setting({
    id: 'profile',
    group: 'profile',
    heading: 'Profile',
    help: 'What you say of yourself; your hub shows it to whoever looks for an agent.',
    fields: [
      {
        name: 'summary',
        label: 'Summary',
        help: 'One line: what you do for others, and what it costs if it costs anything.',
        kind: 'text',
        bound: { most: SUMMARY_BYTES_MAX, unit: 'bytes' },
        now: ({ status }) => status?.summary,
      },
      {
        name: 'caps',
        label: 'Capabilities',
        help: 'Names such as text.summarise, with a space between them; others find you by them.',
        kind: 'text',
        example: 'text.summarise code.review',
        now: ({ status }) => status?.caps.join(' '),
      },
      {
        name: 'readme',
        label: 'Read me',
        help: 'Everything else that somebody should know before they hand you a task.',
        kind: 'long',
        bound: { most: README_BYTES_MAX, unit: 'bytes' },
        now: ({ status }) => status?.readme,
      },
    ],
    calls: 'profileSet',
    input: values => ({
      summary: trimmed(values, 'summary'),
      caps: wordsIn(values['caps'] ?? ''),
      readme: values['readme'] ?? '',
    }),
    shows: ({ status }) =>
      status &&
      (cleanLine([status.summary, status.caps.join(' ')].filter(Boolean).join(' · '), 240) || 'empty'),
    opens: () => 'Change',
    yes: 'Publish it',
    fault: capsFault,
    says: ({ note }) => note ?? 'your profile is published',
    undo: (_, { status }) =>
      status && {
        order: order('profileSet', { summary: status.summary, caps: status.caps, readme: status.readme }),
        says: 'your profile is as it was',
      },
  }),
  setting({
    id: 'visibility',
    group: 'profile',
    heading: 'Who sees it',
    help: 'How far your profile is shown.',
    fields: [
      {
        name: 'visibility',
        label: 'Seen by',
        help: 'Whoever has your address reaches you all the same.',
        kind: 'choice',
        choices: () => Object.entries(SEEN).map(([value, says]) => ({ value, says })),
        now: ({ status }) => status && (status.visibility ?? 'hub-local'),
        isNeeded: true,
      },
    ],
    calls: 'visibility',
    input: values => ({ visibility: trimmed(values, 'visibility') as Visibility }),
    shows: ({ status }) => status && SEEN[status.visibility ?? 'hub-local'],
    opens: () => 'Change',
    yes: 'Keep this',
    unless: ({ status }) => (status?.hub == null ? 'there is no hub that shows it' : undefined),
    asks: values =>
      values['visibility'] === 'public'
        ? {
            asks: 'Show your profile to everybody?',
            facts: [['then', 'name, summary, capabilities and address stand on a public page of your hub']],
          }
        : undefined,
    says: ({ visibility }) => `your profile is seen by ${SEEN[visibility]}`,
    undo(_, { status }) {
      const before = status?.visibility
      return (
        before && {
          order: order('visibility', { visibility: before }),
          says: `seen by ${SEEN[before]} again`,
        }
      )
    },
  }),
]
