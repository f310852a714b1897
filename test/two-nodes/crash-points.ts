/** Every commit, rename and answer that a delegation passes, by the process in which it lies and the wire that it takes. */

const around = (name: string) => [`${name}.before-commit`, `${name}.after-commit`]
const answers = (name: string) => [`${name}.before-answer`, `${name}.after-answer`]

type Points = Record<'hub' | 'alice' | 'bob', string[]>

const chain = ['node.chain.before-write', 'node.chain.before-sync', 'node.chain.after-sync']
const mail = [
  ...around('node.seal'),
  ...around('node.send'),
  ...around('node.receive'),
  'node.receive.before-ack',
  'node.receive.after-ack',
]

/** Of both wires: a letter is written, sent, read and acked under the same names. */
export const points: Points = {
  alice: [
    ...around('node.delegate'),
    ...answers('node.control.delegate'),
    ...mail,
    ...around('node.end'),
    ...answers('node.control.end'),
    ...chain,
  ],
  bob: [...mail, ...around('node.auto-reply'), ...around('node.auto-end'), ...chain],
  hub: [
    ...around('hub.group'),
    ...answers('hub.relaySend'),
    ...answers('hub.relayPoll'),
    ...answers('hub.relayAck'),
  ],
}

/** Renames that only a task with a file passes; over wire 1 the hub keeps no file of it. */
export const filePoints: Record<1 | 3, Points> = {
  3: {
    alice: ['node.attachment.before-rename', 'node.attachment.after-rename'],
    bob: ['node.attachment.before-rename', 'node.attachment.after-rename'],
    hub: ['hub.blob.before-rename', 'hub.blob.after-rename'],
  },
  1: {
    alice: ['node.attachment.before-rename', 'node.attachment.after-rename'],
    bob: ['node.attachment.before-rename', 'node.attachment.after-rename'],
    hub: [],
  },
}

const directlyTaken = <T extends string>(operation: T) =>
  ({
    alice: ['node.direct.before-call', 'node.direct.after-call', ...around('node.confirm')],
    bob: [...around('node.receive'), ...answers(`node.control.${operation}`)],
    'bob serve': ['serve.direct.before-take', 'serve.direct.before-answer'],
  }) as const

/** Those that a letter passes which goes past the hub; `bob serve` is the process that takes letters at his address. */
export const directPoints = directlyTaken('p2pTake')
/** The same for a sealed envelope. */
export const sealedDirectPoints = directlyTaken('p2pTakeEnvelope')

/** Those that a rating passes on its way to a hub of wire 1, which publishes its task with it. */
export const reviewPoints: Pick<Points, 'alice' | 'hub'> = {
  alice: [...around('node.review'), ...answers('node.control.review')],
  hub: [...around('hub.group'), ...answers('hub.reviewGive')],
}
