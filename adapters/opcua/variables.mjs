/** A session with an OPC UA server, and its variables: what they are, their values, and changes of them. */
import opcua from 'node-opcua-client'
import { Unavailable } from '../link/link.mjs'
import { clientFor, sessionOf } from './session.mjs'

const { AttributeIds, ClientMonitoredItem, ClientSubscription, DataType, TimestampsToReturn } = opcua

const CAN_WRITE = 2
const PUBLISH_MS = 200
const kinds = {
  ...{
    Boolean: 'boolean',
    String: 'text',
    Float: 'number',
    Double: 'number',
    SByte: 'number',
    Byte: 'number',
  },
  ...{ Int16: 'number', UInt16: 'number', Int32: 'number', UInt32: 'number' },
}
/** What a single float loses of a number. */
const FLOAT_STEP = 1e-5

/** Something was asked, and no answer came. */
export class Silent extends Unavailable {}

export class Variables {
  #given
  #client
  #session
  #subscription

  constructor(given) {
    this.#given = given
  }

  /** Whether a connection was made now. */
  async connect() {
    if (this.#session !== undefined) return false
    const { endpoint, timeoutMs, security } = this.#given
    const client = clientFor(security, timeoutMs)
    const lost = () => this.#drop(client)
    client.on('connection_lost', lost)
    client.on('close', lost)
    this.#client = client
    this.#session = await this.#within(sessionOf(client, endpoint, security))
    this.#session.on('session_closed', lost)
    return true
  }

  /** A variable of the settings as the server has it. */
  async look({ capability, node: nodeId, unit, minimum, maximum, tolerance, quirks }) {
    const [value, access] = await this.#within(
      this.#open().read([
        { nodeId, attributeId: AttributeIds.Value },
        { nodeId, attributeId: AttributeIds.UserAccessLevel },
      ]),
    )
    requireGood(value)
    const dataType = value.value.dataType
    const kind = kinds[DataType[dataType]]
    if (kind === undefined) throw new Error(`${nodeId} is ${DataType[dataType]}, which is not served`)
    const canWrite = (Number(access.value.value ?? 0) & CAN_WRITE) !== 0
    const isFloat = dataType === DataType.Float
    const members = {
      unit,
      minimum,
      maximum,
      quirks,
      tolerance: tolerance ?? (isFloat ? FLOAT_STEP : undefined),
    }
    const described = {
      ...{ capability, kind, access: canWrite ? ['read', 'subscribe', 'write'] : ['read', 'subscribe'] },
      ...Object.fromEntries(Object.entries(members).filter(([, given]) => given !== undefined)),
    }
    return { described, nodeId, dataType }
  }

  async read(point) {
    const { nodeId } = point
    return readingOf(
      point,
      await this.#within(this.#open().read({ nodeId, attributeId: AttributeIds.Value }, 0)),
    )
  }

  async write({ nodeId, dataType }, value) {
    const written = { nodeId, attributeId: AttributeIds.Value, value: { value: { dataType, value } } }
    const statusCode = await this.#within(this.#open().write(written))
    requireGood({ statusCode })
  }

  /** Tells each change; resolves to what ends it. */
  async watch(point, tell) {
    const { nodeId } = point
    this.#subscription ??= ClientSubscription.create(this.#open(), {
      requestedPublishingInterval: PUBLISH_MS,
      publishingEnabled: true,
    })
    const item = ClientMonitoredItem.create(
      this.#subscription,
      { nodeId, attributeId: AttributeIds.Value },
      { samplingInterval: PUBLISH_MS, queueSize: 1, discardOldest: true },
      TimestampsToReturn.Both,
    )
    item.on('changed', value => {
      try {
        const { status, message, ...reading } = readingOf(point, value)
        tell(reading)
      } catch (error) {
        console.error(`${nodeId}: ${error.message}`)
      }
    })
    item.on('err', message => console.error(`${nodeId}: ${message}`))
    return () => void item.terminate().catch(() => {})
  }

  #open() {
    if (this.#session === undefined) throw new Unavailable('the server is not connected')
    return this.#session
  }

  /** The answer, or silence: then nobody knows how it is with the session, and it is made anew. */
  async #within(work) {
    const { timeoutMs } = this.#given
    const client = this.#client
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Silent(`no answer within ${timeoutMs / 1000} s`)), timeoutMs)
    })
    try {
      return await Promise.race([work, late])
    } catch (error) {
      work.catch(() => {})
      this.#drop(client)
      throw error instanceof Unavailable ? error : new Silent(error.message)
    } finally {
      clearTimeout(timer)
    }
  }

  #drop(client) {
    if (client === undefined || this.#client !== client) return
    this.#client = undefined
    this.#session = undefined
    this.#subscription = undefined
    client.disconnect().catch(() => {})
    this.#given.lost()
  }
}

function requireGood({ statusCode }) {
  if (statusCode.isBad()) throw new Error(`the server says ${statusCode.name}`)
}

function readingOf({ described: { capability } }, { statusCode, value }) {
  requireGood({ statusCode })
  const doubt = statusCode.isGood()
    ? {}
    : { status: 'UNVERIFIED', message: `the server says ${statusCode.name}` }
  const metrics = typeof value.value === 'boolean' ? { metrics: { [capability]: value.value ? 1 : 0 } } : {}
  return { value: value.value, native_ack: true, ...metrics, ...doubt }
}
