/** Settings about hubs: joining, leaving, looking again; and the interface for agents that speak A2A. */
import { NAME_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { present } from '../../protocol/encoding/present.ts'
import { cleanLine } from '../clean.ts'
import type { View } from '../state.ts'
import { isOn, onOff, trimmed } from './field.ts'
import { order, type Setting, setting } from './setting.ts'

const HUB_ADDRESS = /^https?:\/\/[^/?#@\s]+\/?$/

const noHub = ({ status }: View): string | undefined =>
  status?.hub == null ? 'this node is at no hub' : undefined

export const hub: readonly Setting[] = [
  setting({
    id: 'hub_join',
    group: 'hub',
    heading: 'Join a hub',
    help: 'Agents find and reach each other through a hub; it carries what it cannot read.',
    fields: [
      {
        name: 'url',
        label: 'Address of the hub',
        help: 'Scheme, host and port alone; whoever runs the hub tells you.',
        kind: 'text',
        example: 'https://hub.example',
        now: () => '',
        isNeeded: true,
      },
      {
        name: 'name',
        label: 'Your name there',
        help: 'Others see it; it is your own claim.',
        kind: 'text',
        bound: { most: NAME_BYTES_MAX, unit: 'bytes' },
        now: ({ status }) => status?.name,
        isNeeded: true,
      },
    ],
    calls: 'hubRegister',
    input: values => ({ url: trimmed(values, 'url'), name: trimmed(values, 'name') }),
    shows: ({ status }) =>
      status &&
      (status.hub === null ? 'none yet: nobody can reach you' : cleanLine(status.hub_url ?? '', 120)),
    opens: ({ status }) => (status?.hub == null ? 'Join a hub' : 'Move to another'),
    yes: 'Join',
    waits: 'joining; a hub may ask for some seconds of work',
    fault: values =>
      HUB_ADDRESS.test(trimmed(values, 'url'))
        ? undefined
        : { field: 'url', says: 'expected an address such as https://hub.example' },
    asks: (values, { status }) =>
      status?.hub == null
        ? undefined
        : {
            asks: `Move to ${cleanLine(trimmed(values, 'url'), 120)}?`,
            facts: [
              ['from', cleanLine(status.hub_url ?? '', 120)],
              ['then', 'mail comes to the new hub, and those whom you know learn of it'],
              ['credits', 'those at the previous hub stay there'],
            ],
          },
    says: ({ hub_url: url, note }) => cleanLine(note ?? `you are at ${url}`, 400),
  }),
  setting({
    id: 'hub_leave',
    group: 'hub',
    heading: 'Leave the hub',
    help: 'The hub forgets you, and nobody reaches you there.',
    fields: [],
    calls: 'hubLeave',
    input: (_, { status }) => present({ url: status?.hub_url ?? undefined }),
    opens: () => 'Leave',
    yes: 'Leave it',
    unless: noHub,
    asks: (_, { status, balance }) => ({
      asks: `Leave ${cleanLine(status?.hub_url ?? '', 120)}?`,
      facts: [
        ['then', 'nobody reaches you until you join a hub again; open tasks wait'],
        ...(balance !== undefined && balance.balance > 0
          ? ([['credits', `${balance.balance} stay at the hub`]] as const)
          : []),
      ],
    }),
    says: ({ hub_url: url, note }) => cleanLine(note ?? `you left ${url}`, 400),
  }),
  setting({
    id: 'hub_look',
    group: 'hub',
    heading: 'Look at the hub again',
    help: 'A node that stopped talking to its hub asks at once whether both understand each other again.',
    fields: [],
    calls: 'hubLook',
    input: () => ({}),
    yes: 'Look again',
    unless: ({ status }) =>
      status?.hub?.state === 'stopped' ? undefined : 'the node has not stopped talking to its hub',
    says: ({ talking }) => (talking ? 'the node talks to its hub again' : 'the hub has not changed'),
  }),
  setting({
    id: 'a2a',
    group: 'hub',
    heading: 'A2A interface',
    help: 'Agents of this machine that speak A2A hand you tasks, and reach your contacts through this node.',
    fields: [
      {
        name: 'on',
        label: 'Open it',
        help: 'It opens by a token of its own; svc a2a token prints it.',
        kind: 'switch',
        now: ({ a2a }) => a2a && onOff(a2a.on),
        isNeeded: true,
      },
      {
        name: 'addr',
        label: 'Host and port',
        help: 'Empty keeps the address; port 0 takes any that is free.',
        kind: 'text',
        example: '127.0.0.1:41241',
        now: ({ a2a }) => a2a && (a2a.addr ?? ''),
        when: values => isOn(values['on']),
      },
    ],
    calls: 'a2aSet',
    input: values => ({
      on: isOn(values['on']),
      ...present({ addr: isOn(values['on']) ? trimmed(values, 'addr') || undefined : undefined }),
    }),
    shows: ({ a2a }) => a2a && (a2a.on ? `open at ${cleanLine(a2a.url ?? a2a.addr ?? '', 120)}` : 'closed'),
    opens: () => 'Change',
    yes: 'Keep this',
    asks: values => {
      const host = trimmed(values, 'addr').replace(/:\d+$/, '')
      const isHere = ['', '127.0.0.1', 'localhost', '[::1]'].includes(host)
      return !isOn(values['on']) || isHere
        ? undefined
        : {
            asks: 'Open the A2A interface to other machines?',
            facts: [['risk', `whoever reaches ${cleanLine(host, 120)} and has the token acts as you`]],
          }
    },
    says: ({ on, url, warning }) =>
      cleanLine(warning ?? (on ? `open at ${url ?? 'its address'}` : 'the A2A interface is closed'), 400),
    undo: (_, { a2a }) =>
      a2a && {
        order: order('a2aSet', { on: a2a.on, ...present({ addr: a2a.addr }) }),
        says: a2a.on ? 'the A2A interface is open again' : 'the A2A interface is closed again',
      },
  }),
]
