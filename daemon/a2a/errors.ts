/** What the A2A interface refuses: each error of A2A 1.0.1 §3.3.2 with its code in both bindings (§5.4). */

type Row = { rpc: number; http: number; reason: string; status: string; says: string }

/** Errors by name. `reason` of an error of A2A itself stands in its ErrorInfo; the others have none there. */
export const a2aErrors = {
  TaskNotFound: row(-32001, 404, 'NOT_FOUND', 'there is no such task here'),
  TaskNotCancelable: row(-32002, 400, 'FAILED_PRECONDITION', 'the task can no longer be cancelled'),
  PushNotificationNotSupported: row(-32003, 400, 'FAILED_PRECONDITION', 'nothing is pushed here'),
  UnsupportedOperation: row(-32004, 400, 'FAILED_PRECONDITION', 'this is not done here'),
  ContentTypeNotSupported: row(-32005, 400, 'INVALID_ARGUMENT', 'this content is not taken'),
  InvalidAgentResponse: row(-32006, 500, 'INTERNAL', 'the answer of the agent cannot be read'),
  ExtendedAgentCardNotConfigured: row(-32007, 400, 'FAILED_PRECONDITION', 'there is no extended card'),
  ExtensionSupportRequired: row(-32008, 400, 'FAILED_PRECONDITION', 'an extension has to be activated'),
  VersionNotSupported: row(-32009, 400, 'FAILED_PRECONDITION', 'this version of A2A is not spoken here'),
  JSONParse: row(-32700, 400, 'INVALID_ARGUMENT', 'the body is not JSON'),
  InvalidRequest: row(-32600, 400, 'INVALID_ARGUMENT', 'the body is no request of JSON-RPC 2.0'),
  MethodNotFound: row(-32601, 404, 'NOT_FOUND', 'there is no such method'),
  InvalidParams: row(-32602, 400, 'INVALID_ARGUMENT', 'the parameters are not as expected'),
  Internal: row(-32603, 500, 'INTERNAL', 'the node failed to handle the request'),
} as const satisfies Record<string, Omit<Row, 'reason'>>

export type A2aError = keyof typeof a2aErrors

function row(rpc: number, http: number, status: string, says: string): Omit<Row, 'reason'> {
  return { rpc, http, status, says }
}

/** `TASK_NOT_FOUND` of `TaskNotFound`. */
const reasonOf = (name: A2aError): string =>
  name.replace(/(?<=[a-z])[A-Z]/g, letter => `_${letter}`).toUpperCase()

const FIRST_OF_A2A = -32099
const LAST_OF_A2A = -32001

export class A2aRefused extends Error {
  override name = 'A2aRefused'
  readonly error: A2aError
  /** Member of the parameters that is wrong. */
  readonly field: string | undefined
  /** Names of what it is about, such as `taskId`. */
  readonly about: Readonly<Record<string, string>> | undefined

  constructor(error: A2aError, sentence: string, field?: string, about?: Record<string, string>) {
    super(sentence)
    this.error = error
    this.field = field
    this.about = about
  }

  get row(): Omit<Row, 'reason'> {
    return a2aErrors[this.error]
  }

  /** Details as ProtoJSON writes them (§9.5, §11.6). */
  details(): object[] {
    const { rpc } = this.row
    if (rpc >= FIRST_OF_A2A && rpc <= LAST_OF_A2A)
      return [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: reasonOf(this.error),
          domain: 'a2a-protocol.org',
          ...(this.about && { metadata: this.about }),
        },
      ]
    if (this.error !== 'InvalidParams') return []
    const violation = { field: this.field ?? '', description: this.message }
    return [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }]
  }
}

/** The token that opened a call was replaced while it was under way. */
export class TokenReplaced extends A2aRefused {
  override name = 'TokenReplaced'
  constructor() {
    super('Internal', 'the bearer token was replaced by another one; svc a2a token prints it')
  }

  override get row() {
    return { rpc: -32000, http: 401, status: 'UNAUTHENTICATED', says: this.message }
  }
}

export function refuseA2a(error: A2aError, sentence?: string, field?: string): never {
  throw new A2aRefused(error, sentence ?? a2aErrors[error].says, field)
}
