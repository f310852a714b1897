/** Commands for what proves a task. */
import type { CommandRow } from '../command.ts'
import { many, may, need, on, takes } from './row.ts'

const proof = () => import('../commands/proof.ts')
const chain = () => import('../commands/chain.ts')

export const proofCommands: readonly CommandRow[] = [
  {
    path: 'review',
    group: 'proof',
    needsDaemon: true,
    summary: 'rate an ended task, 1 to 5',
    positionals: [
      need('id', 'the interaction, as svc inbox and svc results list it'),
      need('rating', '1 (worst) to 5 (best)'),
      may('comment', 'what others may read'),
    ],
    flags: [on('--publish', 'let a wire-1 hub publish the task and its answer with it')],
    example: 'svc review <id> 5 "quick and right"',
    load: async () => (await proof()).review,
  },
  {
    path: 'evidence',
    reads: true,
    group: 'proof',
    needsDaemon: true,
    summary: 'read the evidence chain',
    flags: [
      takes('--type', 'EVENT', 'only events of this type, for example svc.interaction.receipt'),
      takes(
        '--since',
        'SEQ|DATE',
        'from this sequence number on, or from a day or moment, such as 2026-11-24',
      ),
      takes('--limit', 'N', 'how many at most, 1 to 1000 (50); the newest are kept'),
    ],
    example: 'svc evidence --type svc.interaction.receipt',
    load: async () => (await proof()).evidence,
  },
  {
    path: 'evidence export',
    reads: true,
    group: 'proof',
    needsDaemon: true,
    summary: 'write the whole chain, signed, for strangers to verify',
    flags: [takes('--out', 'FILE', 'where to; nothing is written over')],
    example: 'svc evidence export --out chain.txt',
    load: async () => (await chain()).evidenceExport,
  },
  {
    path: 'evidence heads',
    reads: true,
    group: 'proof',
    needsDaemon: true,
    summary: "heads of others' chains that they signed, for verify --chain --head",
    positionals: [may('agent', 'petname or AID; without it all')],
    example: 'svc evidence heads bob',
    load: async () => (await chain()).evidenceHeads,
  },
  {
    path: 'evidence import',
    group: 'proof',
    needsDaemon: false,
    summary: 'restore records from the chain file into the store (node stopped)',
    example: 'svc stop && svc evidence import',
    load: async () => (await proof()).evidenceImport,
  },
  {
    path: 'evidence accept',
    group: 'proof',
    needsDaemon: false,
    summary: 'go on from an older copy because the newest is lost (node stopped)',
    example: 'svc stop && svc evidence accept',
    load: async () => (await proof()).evidenceAccept,
  },
  {
    path: 'key-history',
    reads: true,
    group: 'proof',
    needsDaemon: true,
    summary: 'print a key history, for verify --kel',
    positionals: [may('agent', 'petname or AID; without it your own')],
    example: 'svc key-history bob',
    load: async () => (await proof()).keyHistory,
  },
  {
    path: 'verify',
    reads: true,
    group: 'proof',
    needsDaemon: false,
    summary: 'verify a receipt, a chain or the statement of a witness, by interaction or offline',
    positionals: [may('id', 'an interaction of your own, or the folder or proof.json that --offline wrote')],
    flags: [
      on(
        '--offline',
        'with an id: write receipt, request and result to a folder, and verify those files alone',
      ),
      takes('--out', 'FOLDER', 'with --offline: the folder, else proof-<id>'),
      takes('--proof', 'PATH', 'what --offline wrote: a proof.json alone, or its folder'),
      takes('--receipt', 'BASE64', 'a receipt, as svc verify <id> prints it'),
      many(
        '--kel',
        'BASE64',
        'the key history of its signer (repeatable: the longest counts, and two that contradict each other check nothing)',
      ),
      takes('--hub', 'URL', 'a hub that has the key history of its signer'),
      many(
        '--attestation',
        'BASE64',
        "the word of the hub of --hub that it had the receipt, as svc verify <id> prints it once the requester's rating is there (repeatable); shows that a key retired since had signed it before; goes beside --kel as well; without --receipt: the statement of a witness about the chain of the hub of --hub, which is compared with what it shows",
      ),
      takes('--request', 'FILE', 'the file with the request, to compare'),
      takes('--result', 'FILE', 'the file with the result, to compare'),
      takes('--chain', 'FILE', 'a chain, as svc evidence export writes it, or a chain file beside --kel'),
      many(
        '--head',
        'BASE64',
        'with --chain: a head of it that somebody holds, as svc evidence heads prints it, or a receipt that its owner signed (repeatable)',
      ),
      takes(
        '--page',
        'FILE',
        'write a page that verifies receipts and chains in a browser, without a network',
      ),
    ],
    load: async () => (await import('../commands/verify.ts')).verify,
    example: 'svc verify <id> --offline',
  },
]
