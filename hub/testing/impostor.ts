/** For tests: a program that listens where a database should, and keeps what it is told. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

const AUTHENTICATION = 'R'
const OK = 0
const CLEARTEXT = 3
const MD5 = 5
const GSS = 7
const SASL = 10
const SASL_CONTINUE = 11
const SASL_FINAL = 12
const INT_BYTES = 4

/** Answers what a client says; the first thing that it says is who it is. */
type Answer = (said: string) => Buffer

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(INT_BYTES)
  length.writeInt32BE(body.length + INT_BYTES)
  return Buffer.concat([Buffer.from(type), length, body])
}

function authentication(kind: number, rest = ''): Buffer {
  const body = Buffer.alloc(INT_BYTES)
  body.writeInt32BE(kind)
  return message(AUTHENTICATION, Buffer.concat([body, Buffer.from(rest)]))
}

const ready = message('Z', Buffer.from('I'))
const letIn = Buffer.concat([authentication(OK), ready])
const done = Buffer.concat([message('C', Buffer.from('SET\0')), ready])
const askForScram = () => authentication(SASL, 'SCRAM-SHA-256\0\0')
/** Goes on from the number that the client made up. */
const goOn: Answer = said =>
  authentication(SASL_CONTINUE, `r=${/r=([^,\0]+)/.exec(said)?.[1]}more,s=${btoa('salt')},i=4096`)

/** Ways to be let in, or to learn a password, without knowing it. */
export const impostures = {
  'the password itself': [() => authentication(CLEARTEXT), () => letIn],
  'an MD5 hash of the password': [() => authentication(MD5, 'salt'), () => letIn],
  'a way that the driver does not know': [() => authentication(GSS), () => letIn],
  nothing: [() => letIn, () => done],
  'no proof in return': [askForScram, goOn, () => letIn],
  'a proof in return that is wrong': [
    askForScram,
    goOn,
    () => Buffer.concat([authentication(SASL_FINAL, `v=${btoa('signature')}`), letIn]),
  ],
  'the password after a proof that is wrong': [
    askForScram,
    goOn,
    () => Buffer.concat([authentication(SASL_FINAL, `v=${btoa('signature')}`), authentication(CLEARTEXT)]),
    () => letIn,
  ],
} satisfies Record<string, readonly Answer[]>

export class Impostor {
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()
  #said = ''

  private constructor(answers: readonly Answer[]) {
    this.#listener = createServer(socket => this.#answer(socket, answers.values()))
  }

  /** At a free port, or at the path of a socket. */
  static async start(answers: readonly Answer[], path?: string): Promise<Impostor> {
    const impostor = new Impostor(answers)
    if (path === undefined) impostor.#listener.listen(0, '127.0.0.1')
    else impostor.#listener.listen(path)
    await once(impostor.#listener, 'listening')
    return impostor
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** What a proxy of the tests is led to. */
  get socket(): string {
    return String(this.port)
  }

  /** All that anybody told it. */
  get said(): string {
    return this.#said
  }

  /** How many connections to it are open. */
  get open(): number {
    return this.#sockets.size
  }

  #answer(socket: Socket, answers: Iterator<Answer>): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.on('data', chunk => {
      const said = chunk.toString('latin1')
      this.#said += said
      const next = answers.next()
      if (next.done !== true) socket.write(next.value(said))
    })
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#listener.close()
    await once(this.#listener, 'close')
  }
}
