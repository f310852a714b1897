/** What a peer told does not hold; the message names the part. */
export class Doubtful extends Error {
  override name = 'Doubtful'
}
