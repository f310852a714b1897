/** Keys and backup: what keeps an identity its owner's. */
import {
  PASSPHRASE_CHARACTERS_MAX,
  PASSPHRASE_CHARACTERS_MIN,
  PATH_CHARACTERS_MAX,
} from '../../protocol/control/bounds.ts'
import { present } from '../../protocol/encoding/present.ts'
import { size, span } from '../ages.ts'
import { cleanLine } from '../clean.ts'
import { trimmed } from './field.ts'
import { type Setting, setting } from './setting.ts'

const ago = (at: number, now: number): string => `is ${span(Math.max(0, now - at))} old`

export const keeping: readonly Setting[] = [
  setting({
    id: 'backup',
    group: 'keeping',
    heading: 'Back up',
    help: 'One file that only your passphrase opens: keys, messages, files, evidence and settings.',
    fields: [
      {
        name: 'passphrase',
        label: 'Passphrase',
        help: 'Write it down: nobody opens the file without it, you included.',
        kind: 'secret',
        bound: { least: PASSPHRASE_CHARACTERS_MIN, most: PASSPHRASE_CHARACTERS_MAX, unit: 'characters' },
        now: () => '',
        isNeeded: true,
      },
      {
        name: 'again',
        label: 'The same once more',
        help: 'So that a slip of a finger locks nobody out.',
        member: 'passphrase',
        kind: 'secret',
        now: () => '',
        isNeeded: true,
      },
      {
        name: 'folder',
        label: 'Folder of the machine of the node',
        help: 'Empty takes “backups” in the data directory; a disk that dies takes both, so copy the file elsewhere.',
        kind: 'text',
        bound: { most: PATH_CHARACTERS_MAX, unit: 'characters' },
        example: '/media/usb',
        now: () => '',
      },
    ],
    calls: 'backup',
    input: values => ({
      passphrase: values['passphrase'] ?? '',
      ...present({ folder: trimmed(values, 'folder') || undefined }),
    }),
    shows: ({ status }, now) =>
      status &&
      (status.backup_at === undefined ? 'none is known' : `the last one ${ago(status.backup_at, now)}`),
    yes: 'Back up',
    waits: 'writing the backup',
    fault: values =>
      values['again'] === values['passphrase']
        ? undefined
        : { field: 'again', says: 'the two passphrases differ' },
    says: ({ archive, bytes }) =>
      `${cleanLine(archive, 4096)} is written, ${size(bytes)}; copy it to another machine`,
  }),
  setting({
    id: 'rotate',
    group: 'keeping',
    heading: 'Change the key',
    help: 'A new key signs from now on, and whoever has the present one can sign nothing more.',
    fields: [
      {
        name: 'recovery_phrase',
        label: 'Phrase of the next key',
        help: 'Only where you took the next key off this machine; empty otherwise.',
        kind: 'secret',
        now: () => '',
      },
    ],
    calls: 'idRotate',
    input: values => present({ recovery_phrase: trimmed(values, 'recovery_phrase') || undefined }),
    shows: ({ status }) => status && `key ${status.kel_seq + 1} signs`,
    yes: 'Change the key',
    unless: ({ status }) => (status?.deactivated === true ? 'this identity has ended' : undefined),
    asks: (_, { status }) => ({
      asks: 'Change the key of this identity?',
      facts: [
        ['when', 'somebody else may have had your key or your machine'],
        ['stays', 'your address, contacts, tasks, receipts and credits'],
        ['changes', `key ${(status?.kel_seq ?? 0) + 1} retires; what it signed before stays valid`],
        ['others', 'your hub is told at once, and others learn it from the hub'],
        ['backups', 'one from before is taken for an old copy: make a new one afterwards'],
      ],
    }),
    isFinal: true,
    says: ({ kel_seq: seq, note }) => cleanLine(note ?? `key ${seq + 1} signs from now on`, 400),
  }),
]
