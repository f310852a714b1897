/** Asks once more where a connection was closed that nobody had used for long. */
export async function insist<T>(asking: () => Promise<T>): Promise<T> {
  try {
    return await asking()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return await asking()
  }
}
