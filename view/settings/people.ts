/** Settings about others: whether tasks are taken, and who is a contact. */
import { GUEST_MESSAGES_MAX, PETNAME_CHARACTERS_MAX } from '../../protocol/control/bounds.ts'
import { cleanLine } from '../clean.ts'
import { peerName } from '../sentences.ts'
import type { Contact, View } from '../state.ts'
import { type Choice, type Field, isOn, onOff, trimmed, type Values, wholeOf } from './field.ts'
import { order, type Setting, setting } from './setting.ts'

const nameOf = ({ aid, petname }: Contact): string => peerName({ peer: aid, peer_name: petname })
const contactIn = ({ contacts }: View, values: Values): Contact | undefined =>
  contacts?.find(({ aid }) => aid === values['peer'])
const nameIn = (view: View, values: Values): string => {
  const contact = contactIn(view, values)
  return contact === undefined ? 'this agent' : nameOf(contact)
}

const petname: Field = {
  name: 'petname',
  label: 'Your name for it',
  help: 'Letters, digits, dots, hyphens and underscores; nobody but you sees it.',
  kind: 'text',
  bound: { most: PETNAME_CHARACTERS_MAX, unit: 'characters' },
  now: () => '',
  isNeeded: true,
}

/** Which contact a row is about. */
const peer = (isAsked: (contact: Contact) => boolean): Field => ({
  name: 'peer',
  label: 'Contact',
  help: 'One of those in your list.',
  kind: 'choice',
  choices: ({ contacts }): Choice[] =>
    (contacts ?? []).filter(isAsked).map(one => ({ value: one.aid, says: nameOf(one) })),
  now: ({ contacts }) => contacts && (contacts.find(isAsked)?.aid ?? ''),
  isNeeded: true,
})

const without =
  (isAsked: (contact: Contact) => boolean, says: string) =>
  ({ contacts }: View): string | undefined =>
    contacts?.some(isAsked) === true ? undefined : says

const everybody = () => true
const blocked = (contact: Contact) => contact.blocked
const free = (contact: Contact) => !contact.blocked

const ofStranger = (count: number): string =>
  count === 0 ? 'nothing of strangers' : `${count} of each stranger`

const taken = (on: boolean): string => (on ? 'tasks are taken' : 'no tasks are taken')

export const people: readonly Setting[] = [
  setting({
    id: 'accept',
    group: 'people',
    heading: 'Take tasks of others',
    help: 'Where this is off, new tasks of anybody are dropped; those that are here go on.',
    fields: [
      {
        name: 'on',
        label: 'Take tasks',
        help: 'Contacts may hand you tasks, and strangers may ask.',
        kind: 'switch',
        now: ({ status }) => status && onOff(status.accept_delegations),
        isNeeded: true,
      },
    ],
    calls: 'accept',
    input: values => ({ on: isOn(values['on']) }),
    shows: ({ status }) => status && (status.accept_delegations ? 'yes' : 'no'),
    opens: ({ status }) => (status?.accept_delegations === false ? 'Take tasks again' : 'Take no more tasks'),
    flips: ({ status }) => ({ on: onOff(status?.accept_delegations === false) }),
    yes: 'Yes',
    asks: values =>
      isOn(values['on'])
        ? {
            asks: 'Take tasks of others again?',
            facts: [['then', 'contacts may hand you tasks, and strangers may ask']],
          }
        : {
            asks: 'Take no tasks of others from now on?',
            facts: [['then', 'new tasks of anybody are dropped; those that are here go on']],
          },
    says: reply => taken(reply.accept_delegations),
    undo: (_, { status }) =>
      status && {
        order: order('accept', { on: status.accept_delegations }),
        says: taken(status.accept_delegations),
      },
  }),
  setting({
    id: 'guest_messages',
    group: 'people',
    heading: 'Tasks of strangers',
    help: 'How many open tasks one stranger may have here, and how many messages in tasks that nobody took.',
    fields: [
      {
        name: 'count',
        label: 'For each stranger',
        help: '0 takes nothing: only contacts reach you then.',
        kind: 'number',
        least: 0,
        most: GUEST_MESSAGES_MAX,
        unit: 'tasks',
        member: 'guest_messages',
        now: ({ status }) => status && String(status.guest_messages),
        isNeeded: true,
      },
    ],
    calls: 'hubRegister',
    input: (values, { status }) => ({
      url: status?.hub_url ?? '',
      guest_messages: wholeOf(values, 'count'),
    }),
    shows: ({ status }) => status && ofStranger(status.guest_messages),
    opens: () => 'Change',
    yes: 'Keep this',
    unless: ({ status }) => (status?.hub == null ? 'join a hub first' : undefined),
    says: (_, values) => ofStranger(wholeOf(values, 'count')),
    undo: (_, { status }) =>
      status?.hub_url == null
        ? undefined
        : {
            order: order('hubRegister', { url: status.hub_url, guest_messages: status.guest_messages }),
            says: ofStranger(status.guest_messages),
          },
  }),
  setting({
    id: 'contact_add',
    group: 'people',
    heading: 'Add a contact',
    help: 'Tasks of a contact wait for nobody, and your auto-reply may answer them.',
    fields: [
      {
        name: 'aid',
        label: 'Address',
        help: 'Its AID: 44 characters that begin with A.',
        kind: 'text',
        bound: { least: 44, most: 44, unit: 'characters' },
        now: () => '',
        isNeeded: true,
      },
      petname,
    ],
    calls: 'contactAdd',
    input: values => ({ aid: trimmed(values, 'aid'), petname: trimmed(values, 'petname') }),
    opens: () => 'Add a contact',
    yes: 'Add it',
    says: reply => `${reply.petname} is a contact now`,
    undo: values => ({
      order: order('contactRemove', { peer: trimmed(values, 'aid') }),
      says: `${trimmed(values, 'petname')} is no contact any more`,
    }),
  }),
  setting({
    id: 'contact_rename',
    group: 'people',
    heading: 'Rename a contact',
    help: 'The name is yours alone; the agent does not learn of it.',
    fields: [{ ...peer(everybody), member: 'aid' }, petname],
    calls: 'contactAdd',
    input: values => ({ aid: values['peer'] ?? '', petname: trimmed(values, 'petname') }),
    opens: () => 'Rename',
    yes: 'Rename it',
    unless: without(everybody, 'you have no contacts'),
    says: reply => `it is called ${reply.petname} now`,
    undo(values, view) {
      const contact = contactIn(view, values)
      if (contact === undefined || contact.petname === null) return undefined
      const { aid, petname: before } = contact
      return { order: order('contactAdd', { aid, petname: before }), says: `it is called ${before} again` }
    },
  }),
  setting({
    id: 'contact_block',
    group: 'people',
    heading: 'Block a contact',
    help: 'Nothing of a blocked agent reaches you.',
    fields: [peer(free)],
    calls: 'contactBlock',
    input: values => ({ peer: values['peer'] ?? '', blocked: true }),
    opens: () => 'Block',
    yes: 'Block it',
    unless: without(free, 'you have no contact that is not blocked'),
    asks: (values, view) => ({
      asks: `Block ${nameIn(view, values)}?`,
      facts: [
        ['agent', cleanLine(values['peer'] ?? '')],
        ['then', 'what it sends is dropped, and it is not told so'],
      ],
    }),
    says: () => 'blocked',
    undo: values => ({
      order: order('contactBlock', { peer: values['peer'] ?? '', blocked: false }),
      says: 'no longer blocked',
    }),
  }),
  setting({
    id: 'contact_unblock',
    group: 'people',
    heading: 'Unblock a contact',
    help: 'It may write to you again.',
    fields: [peer(blocked)],
    calls: 'contactBlock',
    input: values => ({ peer: values['peer'] ?? '', blocked: false }),
    opens: () => 'Unblock',
    yes: 'Unblock it',
    unless: without(blocked, 'nobody is blocked'),
    says: () => 'no longer blocked',
    undo: values => ({
      order: order('contactBlock', { peer: values['peer'] ?? '', blocked: true }),
      says: 'blocked again',
    }),
  }),
  setting({
    id: 'contact_remove',
    group: 'people',
    heading: 'Remove a contact',
    help: 'It is a stranger from then on; its tasks wait for your yes.',
    fields: [peer(everybody)],
    calls: 'contactRemove',
    input: values => ({ peer: values['peer'] ?? '' }),
    opens: () => 'Remove',
    yes: 'Remove it',
    unless: without(everybody, 'you have no contacts'),
    asks: (values, view) => ({
      asks: `Remove ${nameIn(view, values)} from your contacts?`,
      facts: [
        ['agent', cleanLine(values['peer'] ?? '')],
        ['then', 'it is a stranger to you: new tasks of it wait for your yes; what you have with it stays'],
      ],
    }),
    says: ({ petname: name, aid }) => `${peerName({ peer: aid, peer_name: name })} is no contact any more`,
    undo(values, view) {
      const contact = contactIn(view, values)
      if (contact === undefined || contact.petname === null || contact.blocked) return undefined
      const { aid, petname: name } = contact
      return { order: order('contactAdd', { aid, petname: name }), says: `${name} is a contact again` }
    },
  }),
]
