/** Commands for what proves a task. */
import type { CommandRow } from '../command.ts'
import { may, need, takes } from './row.ts'

const proof = () => import('../commands/proof.ts')

export const proofCommands: readonly CommandRow[] = [
  {
    path: 'review',
    group: 'proof',
    needsDaemon: true,
    summary: 'rate an ended task, 1 to 5',
    positionals: [need('id'), need('rating'), may('comment')],
    load: async () => (await proof()).review,
  },
  {
    path: 'evidence',
    group: 'proof',
    needsDaemon: true,
    summary: 'read the evidence chain',
    flags: [takes('--type', 'EVENT'), takes('--since', 'SEQ'), takes('--limit', 'N')],
    load: async () => (await proof()).evidence,
  },
  {
    path: 'evidence import',
    group: 'proof',
    needsDaemon: false,
    summary: 'restore records from the chain file into the store (node stopped)',
    load: async () => (await proof()).evidenceImport,
  },
  {
    path: 'verify',
    group: 'proof',
    needsDaemon: false,
    summary: 'verify a receipt: by interaction, or offline with --receipt',
    positionals: [may('id')],
    flags: [
      takes('--receipt', 'BASE64'),
      takes('--kel', 'BASE64'),
      takes('--hub', 'URL'),
      takes('--result', 'FILE'),
    ],
    load: async () => (await proof()).verify,
    example: 'svc verify --receipt "$(cat receipt.b64)" --hub https://hub.example --result result.json',
  },
]
